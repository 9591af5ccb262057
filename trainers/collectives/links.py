"""One measurement of the links: latency (alpha) and seconds per byte (beta), inside a host and between hosts.

Ping-pong between two ranks of a kind of link, t(S) = alpha + S beta, from the fastest of several small messages and the
median of several large ones. Every rank gets the same numbers, so all decide alike by them.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.layout import Hosts
from trainers.collectives.network import Network
from trainers.collectives.plan import Round, Send
from trainers.collectives.runner import follow
from trainers.collectives.wire.mesh import Mesh

LARGE_BYTES = 2 << 20
REPEATS = 5
BETA_S = 1e-12  # no link is faster than a terabyte a second: less is the clock's noise


@dataclass(frozen=True)
class Link:
    """What a message costs: alpha_s + bytes x beta_s."""

    alpha_s: float
    beta_s: float


@dataclass(frozen=True)
class Links:
    """The two kinds of links; None where there is no pair of the kind."""

    inside: Link | None
    between: Link | None

    def network(self, hosts: Hosts) -> Network:
        """These links among the ranks of `hosts`, as the price sees them."""
        inside, between = (link or Link(0.0, BETA_S) for link in (self.inside, self.between))
        return Network(
            hosts=hosts,
            rate=1 / max(between.beta_s, BETA_S),
            inside_rate=1 / max(inside.beta_s, BETA_S),
            latency_s=between.alpha_s,
            inside_latency_s=inside.alpha_s,
        )


def measure(mesh: Mesh, group: dist.ProcessGroup | None = None) -> Links:
    """Measure both kinds on the first pair of ranks of each; all ranks of the group call this together."""
    hosts = mesh.meeting.hosts
    pairs = [(a, b) for a in range(mesh.world) for b in range(a + 1, mesh.world)]
    inside = next((pair for pair in pairs if hosts[pair[0]] == hosts[pair[1]]), None)
    between = next((pair for pair in pairs if hosts[pair[0]] != hosts[pair[1]]), None)
    return Links(*(_link(pair, mesh, group) if pair else None for pair in (inside, between)))


def _link(pair: tuple[int, int], mesh: Mesh, group: dist.ProcessGroup | None) -> Link:
    bounce = follow(_there_and_back(*pair), chunks=1, group=group, mesh=mesh)
    small_s = min(_timed(bounce, torch.zeros(1)) for _ in range(4 * REPEATS)) / 2
    large_s = median(_timed(bounce, torch.zeros(LARGE_BYTES // 4)) for _ in range(REPEATS)) / 2
    told = torch.tensor([small_s, max(large_s - small_s, 0.0) / LARGE_BYTES], dtype=torch.float64)
    if mesh.rank != pair[0]:
        told.zero_()  # the others saw nothing of it
    dist.all_reduce(told, group=group)
    return Link(*told.tolist())


def _there_and_back(here: int, there: int) -> Iterator[Round]:
    yield [Send(here, there, range(1), add=False)]
    yield [Send(there, here, range(1), add=False)]


def _timed(bounce: Callable[[Tensor], None], x_N: Tensor) -> float:
    started = time.perf_counter()
    bounce(x_N)
    return time.perf_counter() - started
