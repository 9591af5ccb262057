"""Links: the measured cost of messages inside a host and between hosts; all ranks get the same numbers.

The measurement is a ping-pong between two ranks, t(S) = alpha + S beta, the fastest of several: alpha from a small
message, beta from the difference of two large sizes, because a rate-limited link lets the first bytes pass in a burst:
a token bucket of B bytes, B = S - (t(S) - alpha) / beta.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from math import inf

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.layout import Hosts
from trainers.collectives.plan import Round, Send
from trainers.collectives.pricing.network import Network
from trainers.collectives.runners.allreduce import make_allreduce
from trainers.collectives.wire.connections import Connections

WINDOW_S = 0.03
SPAN_BYTES = 16 << 20  # more than a cache holds, as with gradients
PIECE_BYTES = 256 << 10  # of one copy or addition


@dataclass(frozen=True)
class ProcessorCosts:
    """The costs of one rank that has a core for itself; `cores` is of its host."""

    message_s: float  # for each message that the rank sends or receives
    copy_rate: float  # bytes/s
    add_rate: float  # bytes/s
    cores: float  # how many ranks of the host can work at the same time


def measure_processor(hosts: int, *, message_s: float, group: dist.ProcessGroup | None = None) -> ProcessorCosts:
    """Measure on the first rank alone, then on all ranks at once; all ranks of the group call this together."""
    target_N, source_N = torch.ones(SPAN_BYTES // 4), torch.ones(SPAN_BYTES // 4)  # ones() touches all pages first
    is_first = dist.get_rank(group) == 0
    operations = (Tensor.copy_, Tensor.add_)
    alone = [max(_rate(run, target_N, source_N) for _ in range(3)) if is_first else 0.0 for run in operations]
    dist.barrier(group)
    at_once = _rate(Tensor.copy_, target_N, source_N)
    sums = torch.tensor([*alone, at_once], dtype=torch.float64)
    dist.all_reduce(sums, group=group)
    copy_rate, add_rate, copy_rate_of_all = sums.tolist()
    cores = min(copy_rate_of_all / copy_rate, dist.get_world_size(group)) / hosts
    return ProcessorCosts(message_s, copy_rate, add_rate, cores=cores)


def _rate(run: Callable[[Tensor, Tensor], Tensor], target_N: Tensor, source_N: Tensor) -> float:
    """Return the bytes/s of `run`, piece by piece."""
    pieces = list(zip(*(torch.split(x_N, PIECE_BYTES // 4) for x_N in (target_N, source_N)), strict=True))
    started_s, count = time.perf_counter(), 0
    while (spent_s := time.perf_counter() - started_s) < WINDOW_S:
        run(*pieces[count % len(pieces)])
        count += 1
    return count * PIECE_BYTES / spent_s


LARGE_BYTES = (512 << 10, 2 << 20)  # one segment each
REPEATS, LARGE_REPEATS = 20, 3
BOUNCES = 16  # of a small message in one call, so that the fixed cost of the call does not count as latency
BETA_S = 1e-12  # a terabyte per second: a smaller result is clock noise


@dataclass(frozen=True)
class Link:
    """The cost of a message: alpha_s + bytes x beta_s; on a link that has rested, without the first `burst_bytes`."""

    alpha_s: float
    beta_s: float
    burst_bytes: float = 0.0


@dataclass(frozen=True)
class Links:
    """The link inside a host and the link between hosts, None without such a pair of ranks, and the processor costs."""

    inside: Link | None
    between: Link | None
    processor: ProcessorCosts | None = None

    def network(self, hosts: Hosts) -> Network:
        """Return the network of these links among the ranks of `hosts`."""
        inside, between = (link or Link(0.0, BETA_S) for link in (self.inside, self.between))
        free = ProcessorCosts(message_s=0.0, copy_rate=inf, add_rate=inf, cores=inf)
        processor = self.processor or free
        return Network(
            hosts=hosts,
            rate=1 / max(between.beta_s, BETA_S),
            # where processors copy, a message inside a host costs only these copies
            inside_rate=1 / max(inside.beta_s, BETA_S) if self.processor is None else inf,
            latency_s=max(between.alpha_s - 2 * processor.message_s, 0.0),
            inside_latency_s=max(inside.alpha_s - 2 * processor.message_s, 0.0),
            burst_bytes=between.burst_bytes,
            add_rate=processor.add_rate,
            message_s=processor.message_s,
            copy_rate=processor.copy_rate,
            cores=processor.cores,
        )


def measure(connections: Connections, group: dist.ProcessGroup | None = None) -> Links:
    """Measure both links on the first pair of ranks of each kind; all ranks of the group call this together."""
    hosts = connections.rendezvous.hosts
    pairs = [(a, b) for a in range(connections.world) for b in range(a + 1, connections.world)]
    inside_pair = next((pair for pair in pairs if hosts[pair[0]] == hosts[pair[1]]), None)
    between_pair = next((pair for pair in pairs if hosts[pair[0]] != hosts[pair[1]]), None)
    inside, between = (
        _measure_link(pair, connections, group) if pair else None for pair in (inside_pair, between_pair)
    )
    message_s = min((found[1] for found in (inside, between) if found), default=0.0)
    return Links(
        inside[0] if inside else None,
        between[0] if between else None,
        measure_processor(len(set(hosts)), message_s=message_s, group=group),
    )


def _measure_link(
    pair: tuple[int, int], connections: Connections, group: dist.ProcessGroup | None
) -> tuple[Link, float]:
    """Return the link between two ranks, and the processor time of one message on its sender or receiver."""
    once = make_allreduce(_ping_pong(*pair, bounces=1), chunks=1, group=group, connections=connections)
    often = make_allreduce(_ping_pong(*pair, bounces=BOUNCES), chunks=1, group=group, connections=connections)

    def spent_s(x_N: Tensor) -> tuple[float, float]:
        started_s, busy_s = time.perf_counter(), time.process_time()
        (once if x_N.numel() > 1 else often)(x_N)
        return time.perf_counter() - started_s, time.process_time() - busy_s

    small = [spent_s(torch.zeros(1)) for _ in range(REPEATS)]
    one, two = (min(spent_s(torch.zeros(size // 4))[0] for _ in range(LARGE_REPEATS)) / 2 for size in LARGE_BYTES)
    alpha_s, message_s = (min(column) / (2 * BOUNCES) for column in zip(*small, strict=True))
    found = torch.tensor([*astuple(fit_link(alpha_s, one, two)), message_s], dtype=torch.float64)
    if connections.rank != pair[0]:
        found.zero_()  # the sum below then broadcasts the values of the pair's first rank
    dist.all_reduce(found, group=group)
    *costs, message_s = found.tolist()
    return Link(*costs), message_s


def fit_link(alpha_s: float, one_s: float, two_s: float) -> Link:
    """Return the link of a small message's time and the times of the two large messages."""
    beta_s = max((two_s - one_s) / (LARGE_BYTES[1] - LARGE_BYTES[0]), BETA_S)
    burst_bytes = LARGE_BYTES[0] - (one_s - alpha_s) / beta_s
    return Link(alpha_s, beta_s, min(max(burst_bytes, 0.0), LARGE_BYTES[0] / 2))


def _ping_pong(first: int, second: int, *, bounces: int) -> Iterator[Round]:
    for _ in range(bounces):
        yield [Send(first, second, range(1), add=False)]
        yield [Send(second, first, range(1), add=False)]
