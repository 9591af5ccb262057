"""Network: the rates and latencies that price() uses, for hosts, links and ranks.

The alpha-beta-gamma model (Thakur et al., 2005) with the overhead o of LogP (Culler et al., 1993): a message of S bytes
takes alpha + S beta seconds, the addition of S bytes takes S gamma, and each message costs the sender and the receiver
o. Where processors transfer the bytes, the ranks of a host share its cores for messages, copies and sums.
"""

from dataclasses import dataclass
from math import inf

from trainers.collectives.layout import Hosts
from trainers.collectives.plan import Operation


@dataclass(frozen=True, kw_only=True)
class Network:
    """The rates of links and ranks; all ranks of a host share its one link, and have their own links inside it."""

    hosts: Hosts  # the ranks of each host
    rate: float  # bytes/s over the link of a host in each direction: 1 / beta
    inside_rate: float = 5e9  # bytes/s that a rank sends inside its host, and as many that it receives
    latency_s: float = 20e-6  # from host to host: alpha
    inside_latency_s: float = 2e-6
    add_rate: float = 10e9  # bytes/s that a rank adds: 1 / gamma
    message_s: float = 1e-6  # processor time for each message, of its sender and of its receiver: o
    copy_rate: float = inf  # bytes/s that a rank copies when it sends or stores a part; inf if devices copy
    burst_bytes: float = 0.0  # that pass at once over a link between hosts that has rested, as a token bucket lets them
    cores: float = inf  # of a host: how many of its ranks can work at the same time

    def __post_init__(self) -> None:
        for name in ("rate", "inside_rate", "add_rate", "copy_rate", "cores"):
            if getattr(self, name) <= 0:
                unit = "" if name == "cores" else " bytes/s"
                raise ValueError(f"{name} must be above 0{unit}, not {getattr(self, name):g}")
        if sorted(rank for host in self.hosts for rank in host) != list(range(self.world)):
            raise ValueError(f"the hosts must contain each rank from 0 to {self.world - 1} once, not {self.hosts}")

    @property
    def world(self) -> int:
        """Return the number of ranks."""
        return sum(map(len, self.hosts))

    def bound_s(self, size_bytes: float, operation: Operation = "all_reduce") -> float:
        """Return the lower bound of every plan of an operation: each host, or rank of a single host, gets its share.

        For H hosts 2 (H - 1) / H S / rate of an all-reduce, half of it for one that gathers or scatters blocks, and
        S / rate for one from or to a single rank; for n ranks of one host the same with n and inside_rate.
        """
        ends, rate = (len(self.hosts), self.rate) if len(self.hosts) > 1 else (self.world, self.inside_rate)
        if operation in ("broadcast", "reduce"):
            return size_bytes / rate if ends > 1 else 0.0
        passes = 2 if operation == "all_reduce" else 1
        return passes * (ends - 1) / ends * size_bytes / rate
