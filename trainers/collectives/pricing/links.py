"""One measurement of the links and of the ranks' own work; every rank gets the same numbers, so all decide alike.

Ping-pong between two ranks of a kind of link, t(S) = alpha + S beta, the fastest of several: alpha from a small
message, beta from two large sizes, whose difference is free of the burst that a shaped link lets through at first.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.layout import Hosts
from trainers.collectives.plan import Round, Send
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.processor import Work, work
from trainers.collectives.runners.allreduce import follow
from trainers.collectives.wire.connections import Mesh

LARGE_BYTES = (512 << 10, 2 << 20)  # a segment each
REPEATS, LARGE_REPEATS = 20, 3
BOUNCES = 16  # of a small message in one call: what a call costs once is no link's
BETA_S = 1e-12  # no link is faster than a terabyte a second: less is the clock's noise


@dataclass(frozen=True)
class Link:
    """What a message costs: alpha_s + bytes x beta_s."""

    alpha_s: float
    beta_s: float


@dataclass(frozen=True)
class Links:
    """The two kinds of links, None where there is no pair of the kind, and what the ranks' own work costs."""

    inside: Link | None
    between: Link | None
    work: Work | None = None

    def network(self, hosts: Hosts) -> Network:
        """These links among the ranks of `hosts`, as the price sees them."""
        inside, between = (link or Link(0.0, BETA_S) for link in (self.inside, self.between))
        free = Work(message_s=0.0, copy_rate=inf, add_rate=inf, cores=inf)
        work = self.work or free
        return Network(
            hosts=hosts,
            rate=1 / max(between.beta_s, BETA_S),
            # where processors copy, that is all that a way inside a host costs
            inside_rate=1 / max(inside.beta_s, BETA_S) if self.work is None else inf,
            latency_s=max(between.alpha_s - 2 * work.message_s, 0.0),
            inside_latency_s=max(inside.alpha_s - 2 * work.message_s, 0.0),
            add_rate=work.add_rate,
            message_s=work.message_s,
            copy_rate=work.copy_rate,
            cores=work.cores,
        )


def measure(mesh: Mesh, group: dist.ProcessGroup | None = None) -> Links:
    """Measure both kinds on the first pair of ranks of each; all ranks of the group call this together."""
    hosts = mesh.meeting.hosts
    pairs = [(a, b) for a in range(mesh.world) for b in range(a + 1, mesh.world)]
    inside = next((pair for pair in pairs if hosts[pair[0]] == hosts[pair[1]]), None)
    between = next((pair for pair in pairs if hosts[pair[0]] != hosts[pair[1]]), None)
    inside_found, between_found = (_link(pair, mesh, group) if pair else None for pair in (inside, between))
    message_s = min((found[1] for found in (inside_found, between_found) if found), default=0.0)
    return Links(
        inside_found[0] if inside_found else None,
        between_found[0] if between_found else None,
        work(len(set(hosts)), message_s=message_s, group=group),
    )


def _link(pair: tuple[int, int], mesh: Mesh, group: dist.ProcessGroup | None) -> tuple[Link, float]:
    """The link, and the processor's time that a message takes at either end."""
    once = follow(_to_and_fro(*pair, bounces=1), chunks=1, group=group, mesh=mesh)
    often = follow(_to_and_fro(*pair, bounces=BOUNCES), chunks=1, group=group, mesh=mesh)

    def spent_s(x_N: Tensor) -> tuple[float, float]:
        began_s, busy_s = time.perf_counter(), time.process_time()
        (once if x_N.numel() > 1 else often)(x_N)
        return time.perf_counter() - began_s, time.process_time() - busy_s

    small = [spent_s(torch.zeros(1)) for _ in range(REPEATS)]
    one, two = (min(spent_s(torch.zeros(size // 4))[0] for _ in range(LARGE_REPEATS)) / 2 for size in LARGE_BYTES)
    alpha_s, message_s = (min(column) / (2 * BOUNCES) for column in zip(*small, strict=True))
    told = torch.tensor([alpha_s, (two - one) / (LARGE_BYTES[1] - LARGE_BYTES[0]), message_s], dtype=torch.float64)
    if mesh.rank != pair[0]:
        told.zero_()  # the others saw nothing of it
    dist.all_reduce(told, group=group)
    alpha_s, beta_s, message_s = told.tolist()
    return Link(alpha_s, max(beta_s, BETA_S)), message_s


def _to_and_fro(here: int, there: int, *, bounces: int) -> Iterator[Round]:
    for _ in range(bounces):
        yield [Send(here, there, range(1), add=False)]
        yield [Send(there, here, range(1), add=False)]
