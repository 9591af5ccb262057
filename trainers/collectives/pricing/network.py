"""A network as the price sees it: hosts on one link each, ranks inside them, and what a rank's own work costs.

The alpha-beta-gamma model (Thakur et al., 2005), and the o of LogP (Culler et al., 1993): a message of S bytes takes
alpha + S beta seconds, adding S bytes S gamma, and every message costs the ranks at both its ends o. Where processors
carry the bytes, the ranks of a host share its cores for all that: messages, copies and sums.
"""

from dataclasses import dataclass
from math import inf

from trainers.collectives.layout import Hosts


@dataclass(frozen=True, kw_only=True)
class Network:
    """`hosts` are the ranks of each; all ranks of a host share its one link, and have ways of their own inside it."""

    hosts: Hosts
    rate: float  # bytes/s over the link of a host, each way: 1 / beta
    inside_rate: float = 5e9  # bytes/s that a rank sends inside its host, and as many that it receives
    latency_s: float = 20e-6  # from host to host: alpha
    inside_latency_s: float = 2e-6
    add_rate: float = 10e9  # bytes/s that a rank adds: 1 / gamma
    message_s: float = 1e-6  # of a rank's time, for each message that it sends or receives: o
    copy_rate: float = inf  # bytes/s that a rank copies, as it sends a part and as it keeps one; inf: devices do it
    cores: float = inf  # of a host: so many of its ranks work at once

    def __post_init__(self) -> None:
        for name in ("rate", "inside_rate", "add_rate", "copy_rate", "cores"):
            if getattr(self, name) <= 0:
                unit = "" if name == "cores" else " bytes/s"
                raise ValueError(f"{name} must be above 0{unit}, not {getattr(self, name):g}")
        if sorted(rank for host in self.hosts for rank in host) != list(range(self.world)):
            raise ValueError("the hosts must have each rank from 0 on once")

    @property
    def world(self) -> int:
        return sum(map(len, self.hosts))

    def bound_s(self, size_bytes: float) -> float:
        """The least that any all-reduce takes: each host, or rank of a lone host, must send and receive its share.

        2 (H - 1) / H S / rate for H hosts; 2 (n - 1) / n S / inside_rate for n ranks of one host.
        """
        ends, rate = (len(self.hosts), self.rate) if len(self.hosts) > 1 else (self.world, self.inside_rate)
        return 2 * (ends - 1) / ends * size_bytes / rate
