"""Load: what rounds cost each resource of a network: bytes on each channel, additions, copies and messages per rank.

A channel is one direction of one link. Channels in order: H host links out, H host links in, then W rank links out and
W rank links in, inside the hosts.
"""

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from trainers.collectives.plan import Integers, Sends
from trainers.collectives.pricing.network import Network

Reals = npt.NDArray[np.float64]


class PlanNetwork:
    """A network in the units of a plan: the host of each rank, and the seconds per byte of each channel."""

    def __init__(self, network: Network, chunks: int) -> None:
        self.network, self.chunks = network, chunks
        self.hosts, self.world = len(network.hosts), network.world
        self.host_W = np.zeros(self.world, dtype=np.int64)
        for host, ranks in enumerate(network.hosts):
            self.host_W[list(ranks)] = host
        byte_s = [1 / network.rate, 1 / network.inside_rate]
        self.byte_s_R = np.repeat(byte_s, [2 * self.hosts, 2 * self.world])

    def processor_time(self, load: "Load") -> tuple[Reals, Reals]:
        """Return the processor time of a load, for each rank and then for each host, whose ranks share its cores.

        Two vectors: seconds that do not depend on the vector's size, and seconds per byte of the vector.
        """
        network = self.network
        fixed_W = network.message_s * load.messages_W
        byte_W = load.added_W / network.add_rate + load.copied_W / network.copy_rate
        return self._with_hosts(fixed_W), self._with_hosts(byte_W)

    def _with_hosts(self, rank_W: Reals) -> Reals:
        if self.network.cores == inf:
            return np.concatenate([rank_W, np.zeros(self.hosts)])
        return np.concatenate([rank_W, _sum_by_index(self.host_W, rank_W, self.hosts) / self.network.cores])


@dataclass(eq=False)
class Load:
    """The use of each resource by one round, or by several rounds."""

    latency_s: float  # the longest latency of the round's messages
    channels_R: Reals  # shares of the vector on each channel
    added_W: Reals  # shares of the vector that each rank adds
    copied_W: Reals  # shares of the vector that each rank copies, when it sends or stores a part
    messages_W: Reals
    hosts: int

    @classmethod
    def none(cls, scale: PlanNetwork) -> "Load":
        """Return the load of no round."""
        channels_R = np.zeros(2 * (scale.hosts + scale.world))
        idle_W = np.zeros(scale.world)
        return cls(0.0, channels_R, idle_W, idle_W.copy(), idle_W.copy(), scale.hosts)

    @classmethod
    def of(cls, sends: Sends, scale: PlanNetwork) -> "Load":
        """Return the load of one round."""
        has_bytes = sends.size_M > 0  # empty messages are not sent
        sends = sends if has_bytes.all() else sends.select(has_bytes)
        share_M = sends.size_M / scale.chunks
        from_M, into_M = scale.host_W[sends.src_M], scale.host_W[sends.dst_M]
        between_M = from_M != into_M
        # a message uses two channels: out of its sender or the sender's host, and into its receiver or that host
        out_M, in_M = from_M, scale.hosts + into_M
        network, first_rank = scale.network, 2 * scale.hosts
        if not between_M.all():
            out_M = np.where(between_M, out_M, first_rank + sends.src_M)
            in_M = np.where(between_M, in_M, first_rank + scale.world + sends.dst_M)
        latency_s = network.latency_s if between_M.any() else network.inside_latency_s if len(sends) else 0.0
        length = len(scale.byte_s_R)
        channels_R = _sum_by_index(out_M, share_M, length) + _sum_by_index(in_M, share_M, length)
        added_M = share_M * sends.add_M
        sent_W = _sum_by_index(sends.src_M, share_M, scale.world)
        stored_W = _sum_by_index(sends.dst_M, share_M - added_M, scale.world)
        return cls(
            latency_s,
            channels_R,
            _sum_by_index(sends.dst_M, added_M, scale.world),
            sent_W + stored_W,
            np.bincount(np.concatenate([sends.src_M, sends.dst_M]), minlength=scale.world).astype(np.float64),
            scale.hosts,
        )

    def add(self, other: "Load", count: int) -> None:
        """Add the load of `count` other rounds; `latency_s` stays."""
        self.channels_R += other.channels_R if count == 1 else count * other.channels_R
        self.added_W += count * other.added_W
        self.copied_W += count * other.copied_W
        self.messages_W += count * other.messages_W

    @property
    def link_share(self) -> float:
        """Return the share of the vector on the busiest host link, in one direction."""
        return float(self.channels_R[: 2 * self.hosts].max())


def _sum_by_index(index_M: Integers, value_M: Reals, length: int) -> Reals:
    if not value_M.any():  # a round without additions, or one with only additions
        return np.zeros(length)
    return np.bincount(index_M, value_M, length).astype(np.float64, copy=False)
