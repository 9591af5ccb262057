"""Price: the time of a plan on a network, in seconds, with or without a pipeline of segments.

One segment of s bytes takes a + b s, summed over the rounds. Each round contributes its latency, the share of its
busiest link, and the work (messages, copies, sums) of its busiest rank or of the busiest host's cores. With m segments
of S / m bytes,

    T(m) = a + b S / m  +  (m - 1) max over resources of (a_i + b_i S / m)

The first term is the time of the first segment. For each further segment, the second term adds the time on the busiest
resource: a host's link, out or in; a rank's link inside its host; a rank's processor time; a host's cores. T uses the
best m, or a given number of segments.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from trainers.collectives.plan import Plan, Sends
from trainers.collectives.pricing.network import Network
from trainers.collectives.pricing.traffic import Load, PlanNetwork, Reals
from trainers.collectives.runners.segments import segment_counts

FLOAT_BYTES = 4
SEGMENTS = tuple(1 << power for power in range(11))  # 1: no pipeline


@dataclass(frozen=True)
class Price:
    """The cost of a plan on a network, for any vector size."""

    plan: Plan
    rounds: int
    link_share: float  # share of the vector on the busiest host's link, in one direction
    one_segment: tuple[float, float]  # a and b: the seconds, and the seconds per byte, of one segment
    load: Reals  # a_i and b_i of every resource

    def seconds(self, size_bytes: float, segments: int | None = None) -> float:
        """Return the time for a vector of `size_bytes` in `segments` segments; the default is the best number."""
        return self._time(size_bytes, segments or self.segments(size_bytes))

    def segments(self, size_bytes: float) -> int:
        """Return the best number of segments."""
        return min(SEGMENTS, key=lambda segments: self._time(size_bytes, segments))

    def runner_seconds(self, size_bytes: float) -> float:
        """Return the time for a float32 vector in the segments that the runner cuts: what runs and `auto` go by."""
        counts = _runner_segments(size_bytes)
        first = next(iter(counts))
        rest_s = sum(
            (count - (length == first)) * self._busiest(FLOAT_BYTES * length) for length, count in counts.items()
        )
        return self._first(FLOAT_BYTES * first) + rest_s

    def _time(self, size_bytes: float, segments: int) -> float:
        part = size_bytes / segments
        return self._first(part) + (segments - 1) * self._busiest(part)

    def _first(self, part_bytes: float) -> float:
        return self.one_segment[0] + self.one_segment[1] * part_bytes

    def _busiest(self, part_bytes: float) -> float:
        return float((self.load @ (1.0, part_bytes)).max(initial=0.0))


def count_runner_segments(size_bytes: float) -> int:
    """Return the number of segments that the runner cuts of a float32 vector."""
    return sum(_runner_segments(size_bytes).values())


def _runner_segments(size_bytes: float) -> dict[int, int]:
    return segment_counts(max(int(size_bytes // FLOAT_BYTES), 1), FLOAT_BYTES)


def price(plan: Plan, network: Network) -> Price:
    """Evaluate `plan` on `network`, round by round; raise ValueError if they have different numbers of ranks."""
    if plan.world != network.world:
        raise ValueError(f"the plan has {plan.world} ranks, but the network has {network.world}")
    scale = PlanNetwork(network, plan.chunks)
    total, fixed_s, byte_s, rounds = Load.none(scale), 0.0, 0.0, 0
    for load, count in _loads(plan, scale):
        total.add(load, count)
        fixed_work, byte_work = scale.processor_time(load)
        fixed_s += count * (load.latency_s + float(fixed_work.max(initial=0)))
        byte_s += count * (float((load.channels_R * scale.byte_s_R).max(initial=0)) + float(byte_work.max(initial=0)))
        rounds += count
    channels_R, work = total.channels_R * scale.byte_s_R, scale.processor_time(total)
    of_channels = np.stack([np.zeros_like(channels_R), channels_R], axis=1)
    resources = np.concatenate([of_channels, np.stack(work, axis=1)])
    return Price(plan, rounds, total.link_share, (fixed_s, byte_s), resources)


def _loads(plan: Plan, scale: PlanNetwork) -> Iterator[tuple[Load, int]]:
    """Yield the load of each round, and how many rounds in sequence have it."""
    last: tuple[Sends, Load] | None = None
    count = 0
    for sends in map(Sends.of, plan):
        # rounds that send equal sizes between the same ranks, as a ring does, have equal loads
        if last is not None and sends.has_same_load(last[0]):
            count += 1
            continue
        if last is not None:
            yield last[1], count
        last, count = (sends, Load.of(sends, scale)), 1
    if last is not None:
        yield last[1], count


def choose(plans: Iterable[Plan], network: Network, size_bytes: float) -> Price:
    """Return the cheapest of `plans` for a vector of `size_bytes`."""
    return min((price(plan, network) for plan in plans), key=lambda found: found.seconds(size_bytes))
