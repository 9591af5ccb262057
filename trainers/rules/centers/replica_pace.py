"""ReplicaPace: limit how far replicas run ahead of each other: Async and Hogwild EASGD and SGD.

No replica begins its exchange n + 1 before half of the other replicas have ended exchange n. Without this limit
(`is_free`), which is how the papers' methods are defined, the
replicas on the center's host, which need no network, would take all their steps while the other replicas take a few:
the center would depend on them alone, and the evaluation on rank 0 after an epoch would not include the other replicas.
The slower half of the replicas never waits.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class ReplicaPace:
    """Counts every rank's exchanges; no rank waits for a rank that has departed or is late by `timeout_s`.

    `is_free`: no rank waits at all.
    """

    def __init__(self, world: int, *, timeout_s: float, is_free: bool = False) -> None:
        self._is_free = is_free
        self._exchanges, self._not_awaited = [0] * world, set[int]()
        self._timeout_s = timeout_s
        self._changed = Condition()

    @contextmanager
    def exchange(self, rank: int) -> Iterator[None]:
        """Wait until the rank may exchange, and count the exchange at its end."""
        with self._changed:
            if not self._changed.wait_for(lambda: 2 * len(self._behind(rank)) < len(self._exchanges), self._timeout_s):
                self._not_awaited.update(self._behind(rank))
        yield
        with self._changed:
            self._exchanges[rank] += 1
            self._changed.notify_all()

    def _behind(self, rank: int) -> list[int]:
        if self._is_free:
            return []
        own = self._exchanges[rank]
        return [other for other, count in enumerate(self._exchanges) if count < own and other not in self._not_awaited]

    def remove_rank(self, rank: int) -> None:
        """Wait for this rank no more."""
        with self._changed:
            self._not_awaited.add(rank)
            self._changed.notify_all()
