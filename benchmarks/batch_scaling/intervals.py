"""Intervals of means over few seeds by Student's t distribution, and what they say about a loss of accuracy.

    mean       m +- t(n - 1) s / sqrt(n)
    difference m1 - m2 +- t(f) sqrt(e1 + e2),   e_i = s_i^2 / n_i,   f = (e1 + e2)^2 / sum of e_i^2 / (n_i - 1)

f is Welch's (1947) number of degrees of freedom, rounded down. All intervals are of 95 %.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Literal

from study.student import critical

TAIL = 0.025
MARGIN = 0.01  # the loss of accuracy within which a batch holds


@dataclass(frozen=True)
class Interval:
    """A mean, or a difference of two, and the half width of its interval."""

    mean: float
    half: float

    @property
    def low(self) -> float:
        """The lower end."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """The upper end."""
        return self.mean + self.half


def interval(values: Sequence[float]) -> Interval:
    """Return the mean of at least two values with its interval."""
    return Interval(fmean(values), critical(TAIL, len(values) - 1) * math.sqrt(variance(values) / len(values)))


def difference(values: Sequence[float], reference: Sequence[float]) -> Interval:
    """Return the difference of the means of two samples with its interval; both have at least two values."""
    squares = [variance(sample) / len(sample) for sample in (values, reference)]
    apart = fmean(values) - fmean(reference)
    if not (total := sum(squares)):
        return Interval(apart, 0.0)
    sizes = (len(values) - 1, len(reference) - 1)
    freedom = total**2 / sum(square**2 / size for square, size in zip(squares, sizes, strict=True))
    return Interval(apart, critical(TAIL, int(freedom)) * math.sqrt(total))


def finding(loss: Interval) -> Literal["holds", "loses", "open"]:
    """Return what a difference to the small batch shows.

    holds: the whole interval is above a loss of one point; loses: the whole interval is below it; open: neither.
    """
    if loss.low >= -MARGIN:
        return "holds"
    return "loses" if loss.high < -MARGIN else "open"
