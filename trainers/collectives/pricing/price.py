"""What a plan costs on a network, in seconds: rounds one after the other, or segments of the vector in a pipeline.

One segment of s bytes takes a + b s, summed over the rounds: in each the latency, the busiest link's share, and the
work (messages, copies, sums) of the busiest rank or of the busiest host's cores. With m segments of S / m bytes,

    T(m) = a + b S / m  +  (m - 1) max over resources of (a_i + b_i S / m)

the first segment's way, and for every other one the time that it keeps the busiest resource: a host's link, out or in;
a rank's way inside its host; a rank's own time; a host's cores. T is taken at the best m, or for given segments.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from trainers.collectives.plan import Plan, Sends
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.traffic import Load, Reals, Scale
from trainers.collectives.runners.segments import lengths

FLOAT_BYTES = 4
SEGMENTS = tuple(1 << power for power in range(11))  # one is no pipeline


@dataclass(frozen=True)
class Price:
    """A plan's cost on a network, for any size: evaluated once, asked often."""

    plan: Plan
    rounds: int
    link_share: float  # of the vector, over the busiest host's link, one way
    way: tuple[float, float]  # a and b: seconds, and seconds per byte, of one segment's way
    load: Reals  # a_i and b_i of every resource

    def seconds(self, size_bytes: float, segments: int | None = None) -> float:
        """The time for a vector of `size_bytes`, in as many segments, else in the best number of them."""
        return self._time(size_bytes, segments or self.segments(size_bytes))

    def segments(self, size_bytes: float) -> int:
        """How many segments are best."""
        return min(SEGMENTS, key=lambda segments: self._time(size_bytes, segments))

    def by_runner(self, size_bytes: int) -> float:
        """The time for a vector of float32 in the segments that the runner makes of it."""
        first, *others = lengths(max(size_bytes // FLOAT_BYTES, 1), FLOAT_BYTES)
        rest_s = sum(often * self._busiest(FLOAT_BYTES * length) for length, often in Counter(others).items())
        return self._way(FLOAT_BYTES * first) + rest_s

    def _time(self, size_bytes: float, segments: int) -> float:
        part = size_bytes / segments
        return self._way(part) + (segments - 1) * self._busiest(part)

    def _way(self, part_bytes: float) -> float:
        return self.way[0] + self.way[1] * part_bytes

    def _busiest(self, part_bytes: float) -> float:
        return float((self.load @ (1.0, part_bytes)).max(initial=0.0))


def price(plan: Plan, network: Network) -> Price:
    """Evaluate `plan` on `network`, round by round."""
    if plan.world != network.world:
        raise ValueError(f"a plan for {plan.world} ranks has no price on a network of {network.world}")
    scale = Scale(network, plan.chunks)
    whole, fixed_s, byte_s, rounds = Load.none(scale), 0.0, 0.0, 0
    last: tuple[Sends, Load] | None = None
    for sends in map(Sends.of, plan):
        # rounds that move as much between the same ranks, as a ring's do, load the network alike
        if last is None or not _are_alike(sends, last[0]):
            last = sends, Load.of(sends, scale)
        load = last[1]
        whole.add(load)
        fixed_work, byte_work = scale.work(load)
        fixed_s += load.latency_s + float(fixed_work.max(initial=0))
        byte_s += float((load.ways_R * scale.way_cost_R).max(initial=0)) + float(byte_work.max(initial=0))
        rounds += 1
    ways_R, work = whole.ways_R * scale.way_cost_R, scale.work(whole)
    resources = np.concatenate([np.stack([np.zeros_like(ways_R), ways_R], axis=1), np.stack(work, axis=1)])
    return Price(plan, rounds, whole.link_share, (fixed_s, byte_s), resources)


def choose(plans: Iterable[Plan], network: Network, size_bytes: float) -> Price:
    """The cheapest of `plans` for a vector of `size_bytes`."""
    return min((price(plan, network) for plan in plans), key=lambda found: found.seconds(size_bytes))


def _are_alike(sends: Sends, others: Sends) -> bool:
    same = (sends.src_M is others.src_M, sends.dst_M is others.dst_M)
    return all((*same, sends.size_M is others.size_M, sends.add_M is others.add_M))
