"""Keeps replicas together that take no turns at their center: Async and Hogwild EASGD and SGD.

No replica begins its talk n + 1 before half of the others have ended n. Without it, those on the center's own host,
which need no wire, would take all their steps while the others take a few: the center would be theirs alone, and what
rank 0 evaluates after its epochs would say nothing of the others. The slower half never waits.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Pace:
    """Counts every rank's talks; one that has left, or is late by `timeout_s`, holds nobody any more."""

    def __init__(self, world: int, *, timeout_s: float) -> None:
        self._talks, self._not_awaited = [0] * world, set[int]()
        self._timeout_s = timeout_s
        self._changed = Condition()

    @contextmanager
    def talk(self, rank: int) -> Iterator[None]:
        with self._changed:
            if not self._changed.wait_for(lambda: 2 * len(self._behind(rank)) < len(self._talks), self._timeout_s):
                self._not_awaited.update(self._behind(rank))
        yield
        with self._changed:
            self._talks[rank] += 1
            self._changed.notify_all()

    def _behind(self, rank: int) -> list[int]:
        own = self._talks[rank]
        return [other for other, talks in enumerate(self._talks) if talks < own and other not in self._not_awaited]

    def leave(self, rank: int) -> None:
        with self._changed:
            self._not_awaited.add(rank)
            self._changed.notify_all()
