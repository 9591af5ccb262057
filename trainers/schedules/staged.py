"""Piecewise constant rate: g(e) = g_k from epoch e_k on (Mikami et al., 2018, with a growing batch size)."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from trainers.schedules.schedule import Schedule


def staged(stages: Sequence[tuple[float, float]]) -> Schedule:
    """Return the schedule of `stages`, pairs of a start epoch and a rate; the first start epoch is 0."""
    begins, rates = [begin for begin, _ in stages], [rate for _, rate in stages]
    if not stages or begins[0] != 0 or any(a >= b for a, b in pairwise(begins)):
        raise ValueError(f"start epochs must begin with 0 and increase, not {begins}")
    return lambda e: rates[bisect_right(begins, e) - 1]
