"""Numeric axes with more values than a picture shows: neighbouring values share a place."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from study.answer.axes import Axis

MOST_PLACES = 50  # of an axis: a picture shows no more of them side by side


@dataclass(frozen=True)
class JoinedAxis(Axis):
    """A numeric axis on which as many neighbouring values as needed share a place."""

    places: int = MOST_PLACES

    @cached_property
    def numbers(self) -> list[float] | None:
        """The value in the middle of each place, ascending."""
        values = self._values
        ends = [*self._begins[1:], len(values)]
        return [values[(begin + end - 1) // 2] for begin, end in zip(self._begins, ends, strict=True)]

    def number_of(self, values: Mapping[str, Any]) -> float:
        """Return the value in the middle of a run's place."""
        assert self.numbers is not None
        return self.numbers[bisect_right(self._firsts, super().number_of(values)) - 1]

    @cached_property
    def _values(self) -> list[float]:
        return sorted(float(point[self._leading]) for point in self.points)

    @cached_property
    def _begins(self) -> list[int]:
        return [place * len(self._values) // self.places for place in range(self.places)]

    @cached_property
    def _firsts(self) -> list[float]:
        return [self._values[begin] for begin in self._begins]


def join(axis: Axis | None) -> Axis | None:
    """Return the axis, with joined values if it has more than a picture shows."""
    if axis is None or axis.numbers is None or len(axis.numbers) <= MOST_PLACES:
        return axis
    return JoinedAxis(axis.paths, axis.names, axis.base, axis.points)


def joined_notes(*axes: Axis | None) -> list[str]:
    """Return what a reader must know of joined axes."""
    return [
        f"the {len(axis.points):,} values of {axis.name} share {axis.places} places, each with the mean of its runs"
        for axis in axes
        if isinstance(axis, JoinedAxis)
    ]
