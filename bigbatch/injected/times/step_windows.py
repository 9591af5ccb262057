"""StepWindows: the mean times of one rank over ranges of steps, which begin and end at the same steps on all ranks.

The idle time of a rank depends on the slowest rank of each step, so a range should be a single step. Ranges of short
steps have 2^k steps and end at multiples of 2^k, so a rank writes at most about MAX_ROWS_PER_S rows per second.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import add
from typing import NamedTuple

MAX_ROWS_PER_S = 25
MAX_STEPS = 1 << 14  # of one range


class Window(NamedTuple):
    """The mean seconds per step of each part over the steps `first` to `last`."""

    first: int
    last: int
    parts: tuple[float, ...]


class StepWindows:
    """Collects the steps of one rank until a range is complete."""

    def __init__(self) -> None:
        self._first = self._last = self._count = 0
        self._sums: list[float] = []
        self._length = 1

    def add(self, step: int, seconds: Sequence[float]) -> Window | None:
        """Add a step, by its number; return the range that it completes."""
        self._sums = list(map(add, self._sums, seconds)) if self._count else list(seconds)
        self._first = self._first if self._count else step
        self._last, self._count = step, self._count + 1
        return None if step % self._length else self.close()

    def close(self) -> Window | None:
        """Complete the range now; return it, None without a step."""
        if not self._count:
            return None
        window = Window(self._first, self._last, tuple(total / self._count for total in self._sums))
        self._length, self._count = _length(sum(window.parts)), 0
        return window


def _length(step_s: float) -> int:
    length = 1
    while length < MAX_STEPS and length * step_s * MAX_ROWS_PER_S < 1:
        length *= 2
    return length
