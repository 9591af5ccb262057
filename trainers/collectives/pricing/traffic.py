"""What rounds lay on a network's resources: shares of the vector on every way, sums and messages on every rank.

A way is one direction of one thing: H host links out, H in, then W ranks out and W in, inside their hosts.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trainers.collectives.plan import Integers, Sends
from trainers.collectives.pricing.network import Network

Reals = npt.NDArray[np.float64]


class Scale:
    """A network in the plan's measure: which host a rank is on, and what the whole vector costs on each way."""

    def __init__(self, network: Network, chunks: int) -> None:
        self.network, self.chunks = network, chunks
        self.hosts, self.world = len(network.hosts), network.world
        self.host_W = np.zeros(self.world, dtype=np.int64)
        for host, ranks in enumerate(network.hosts):
            self.host_W[list(ranks)] = host
        costs = [1 / network.rate, 1 / network.inside_rate]
        self.way_cost_R = np.repeat(costs, [2 * self.hosts, 2 * self.world])

    def work(self, load: "Load") -> tuple[Reals, Reals]:
        """What a load costs in processors' time, for each rank and then for each host whose ranks share its cores.

        Two vectors: seconds whatever the vector's size, and seconds per byte of it.
        """
        network = self.network
        fixed_W = network.message_s * load.messages_W
        byte_W = load.added_W / network.add_rate + load.copied_W / network.copy_rate
        return self._with_hosts(fixed_W), self._with_hosts(byte_W)

    def _with_hosts(self, rank_W: Reals) -> Reals:
        return np.concatenate([rank_W, _summed(self.host_W, rank_W, self.hosts) / self.network.cores])


@dataclass(eq=False)
class Load:
    """What one round, or many, lay on each resource."""

    latency_s: float  # the longest of a round's ways
    ways_R: Reals  # shares of the vector
    added_W: Reals  # shares of the vector that each rank adds
    copied_W: Reals  # and that it copies: what it sends, and what it keeps
    messages_W: Reals
    hosts: int

    @classmethod
    def none(cls, scale: Scale) -> "Load":
        """No round at all."""
        ways_R = np.zeros(2 * (scale.hosts + scale.world))
        idle_W = np.zeros(scale.world)
        return cls(0.0, ways_R, idle_W, idle_W.copy(), idle_W.copy(), scale.hosts)

    @classmethod
    def of(cls, sends: Sends, scale: Scale) -> "Load":
        """What one round lays on the network."""
        full = sends.size_M > 0  # empty messages are not sent
        sends = sends if full.all() else sends.where(full)
        share_M = sends.size_M / scale.chunks
        from_M, into_M = scale.host_W[sends.src_M], scale.host_W[sends.dst_M]
        between_M = from_M != into_M
        # a message takes two ways: out of where it starts, into where it ends
        first_rank = 2 * scale.hosts
        out_M = np.where(between_M, from_M, first_rank + sends.src_M)
        in_M = np.where(between_M, scale.hosts + into_M, first_rank + scale.world + sends.dst_M)
        network = scale.network
        latency_s = network.latency_s if between_M.any() else network.inside_latency_s if len(sends) else 0.0
        ways = len(scale.way_cost_R)
        return cls(
            latency_s,
            _summed(out_M, share_M, ways) + _summed(in_M, share_M, ways),
            _summed(sends.dst_M, share_M * sends.add_M, scale.world),
            _summed(sends.src_M, share_M, scale.world) + _summed(sends.dst_M, share_M * ~sends.add_M, scale.world),
            _counted(sends.src_M, scale.world) + _counted(sends.dst_M, scale.world),
            scale.hosts,
        )

    def add(self, other: "Load") -> None:
        """Lay another round on top."""
        self.ways_R += other.ways_R
        self.added_W += other.added_W
        self.copied_W += other.copied_W
        self.messages_W += other.messages_W

    @property
    def link_share(self) -> float:
        """The share of the vector on the busiest host's link, one way."""
        return float(self.ways_R[: 2 * self.hosts].max())


def _summed(place_M: Integers, value_M: Reals, places: int) -> Reals:
    if not value_M.any():  # what a round adds in which all is kept, and the other way round
        return np.zeros(places)
    return np.bincount(place_M, value_M, places).astype(np.float64, copy=False)


def _counted(place_M: Integers, places: int) -> Reals:
    return np.bincount(place_M, minlength=places).astype(np.float64)
