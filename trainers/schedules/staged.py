"""A rate that is constant by stages: g(e) = g_k from epoch e_k on (Mikami et al., 2018, beside their growing batch)."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from trainers.schedules.schedule import Schedule


def staged(stages: Sequence[tuple[float, float]]) -> Schedule:
    """Return the schedule of `stages`: pairs of the epoch from which a rate holds, first 0, and that rate."""
    begins, rates = [begin for begin, _ in stages], [rate for _, rate in stages]
    if not stages or begins[0] != 0 or any(a >= b for a, b in pairwise(begins)):
        raise ValueError(f"stages begin at epoch 0 and each after the one before, not at {begins}")
    return lambda e: rates[bisect_right(begins, e) - 1]
