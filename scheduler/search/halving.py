"""Comparisons of trials at their rungs: successive halving and the median. Pure functions of the values."""

from collections.abc import Mapping, Sequence
from statistics import median

Results = Mapping[int, float]  # number of the trial -> its value at one rung; trials that diverged are left out


def is_among_best(results: Results, number: int, places: int, *, maximizes: bool) -> bool:
    """Return whether a trial has one of the first places; of equal values the earlier trial has the better place."""
    return number in results and _place(results, number, maximizes=maximizes) < places


def goes_on(results: Results, reached: int, number: int, reduction: int, *, maximizes: bool) -> bool:
    """Return whether a trial that reaches a rung trains on: it is among the best of the `reached` trials so far.

    The first ones of a rung go on without a comparison, so no rank waits for other trials.
    """
    return is_among_best(results, number, max(1, reached // reduction), maximizes=maximizes)


def promotable(results: Results, reached: int, waiting: Sequence[int], reduction: int, *, maximizes: bool) -> list[int]:
    """Return the stopped trials of a rung that are among its best by now, the best first."""
    places = reached // reduction
    found = [number for number in waiting if is_among_best(results, number, places, maximizes=maximizes)]
    return sorted(found, key=lambda number: _place(results, number, maximizes=maximizes))


def is_below_median(value: float, others: Sequence[float], least: int, *, maximizes: bool) -> bool:
    """Return whether a value is worse than the median of at least `least` others."""
    if len(others) < least:
        return False
    middle = median(others)
    return value < middle if maximizes else value > middle


def _place(results: Results, number: int, *, maximizes: bool) -> int:
    """Return how many trials are better."""
    own = results[number]

    def is_better(other: int, value: float) -> bool:
        return (value > own if maximizes else value < own) or (value == own and other < number)

    return sum(is_better(other, value) for other, value in results.items())
