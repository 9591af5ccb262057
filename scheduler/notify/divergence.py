"""Divergence: a run whose loss leaves the band of the other runs of its group. A pure function of their curves.

At a step the band ends at `median + DEVIATIONS x deviation` of the others' values. `deviation` is 1.4826 times the
median absolute deviation, but at least FLOOR of the median. So almost half of the others may have any values without an
effect on it. A run leaves the band with POINTS successive points beyond its end. At least SIBLINGS others must have got
to the last of them; the value of one that has no point at a step is that of its point before.
"""

from bisect import bisect_right
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

from scheduler.search.curve import Curve

DEVIATIONS, FLOOR, POINTS, SIBLINGS = 6.0, 0.05, 5, 4
OF_NORMAL = 1.4826  # a normal distribution's standard deviation in units of its median absolute deviation


class Beyond(NamedTuple):
    """A point beyond the band."""

    step: int
    value: float
    median: float
    end: float  # of the band
    others: int


def leaves_band(own: Curve, others: Sequence[Curve]) -> Beyond | None:
    """Return the last of a run's newest points if all of them are beyond the band; None otherwise.

    `others`: the points about these steps of runs that have got to the last of them.
    """
    if len(own.steps) < POINTS:
        return None
    last = zip(own.steps[-POINTS:], own.values[-POINTS:], strict=True)
    found = [_beyond(step, value, others) for step, value in last]
    return found[-1] if all(one is not None for one in found) else None


def _beyond(step: int, value: float | None, others: Sequence[Curve]) -> Beyond | None:
    """Return the point if it is beyond the band; one that is no finite number is an anomaly of its own."""
    known = [found for each in others if (found := _value_at(each, step)) is not None]
    if len(known) < SIBLINGS or value is None:
        return None
    middle = median(known)
    deviation = OF_NORMAL * median(abs(each - middle) for each in known)
    end = middle + DEVIATIONS * max(deviation, FLOOR * abs(middle))
    return Beyond(step, value, middle, end, len(known)) if value > end else None


def _value_at(curve: Curve, step: int) -> float | None:
    """Return the value of a run at a step or before it; None without one, and if that is no finite number."""
    place = bisect_right(curve.steps, step) - 1
    return None if place < 0 else curve.values[place]
