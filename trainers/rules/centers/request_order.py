"""RequestOrder: the order in which a center serves its replicas, in which Original, Async and Hogwild EASGD differ.

In an exchange a replica's message arrives and its answer is sent; within it the center is updated, part by part. Async
and Hogwild have no order; they may have a pace (`ReplicaPace`).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Condition, Lock
from typing import Protocol

from trainers.collectives.wire.rank_lost import RankLost


class ReplicaPace:
    """Counts every rank's exchanges, to limit how far replicas run ahead of each other (Async and Hogwild).

    No replica begins its exchange n + 1 before half of the other replicas have ended exchange n. Without this limit
    (`is_free`), which is how the papers' methods are defined, the replicas on the center's host, which need no network,
    would take all their steps while the other replicas take a few: the center would depend on them alone, and the
    evaluation on rank 0 after an epoch would not include the other replicas. The slower half of the replicas never
    waits, and no rank waits for a rank that has departed or is late by `timeout_s`.
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


class RequestOrder(Protocol):
    """Decides when a rank may exchange, and when the center may be updated."""

    needs_receipt: bool  # an exchange ends when the replica confirms the answer, not when the answer is sent

    def exchange(self, rank: int) -> AbstractContextManager[None]:
        """Wait until the rank may exchange; its exchange lasts as long as the context."""
        ...

    def update(self) -> AbstractContextManager[object]:
        """Wait until the center may be updated."""
        ...

    def pause_updates(self) -> AbstractContextManager[object]:
        """Wait, on rank 0 between its exchanges, until no update is in progress, and prevent updates inside."""
        ...

    def remove_rank(self, rank: int) -> None:
        """Wait for this rank no more."""
        ...


class FirstComeOrder(ReplicaPace):
    """Async: the center serves replicas as they arrive; updates exclude each other."""

    needs_receipt = False

    def __init__(self, world: int, *, timeout_s: float, is_free: bool = False) -> None:
        super().__init__(world, timeout_s=timeout_s, is_free=is_free)
        self._lock = Lock()

    def update(self) -> AbstractContextManager[object]:
        """Return the lock."""
        return self._lock

    def pause_updates(self) -> AbstractContextManager[object]:
        """Return the lock."""
        return self._lock


class LockFreeOrder(ReplicaPace):
    """Hogwild (Recht, Re, Wright & Niu, 2011): FirstComeOrder without the lock; updates may overwrite each other."""

    needs_receipt = False

    def update(self) -> AbstractContextManager[object]:
        """Return an empty context: updates may overlap."""
        return nullcontext()

    def pause_updates(self) -> AbstractContextManager[object]:
        """Return an empty context: a reader may see parts of several moments, as every replica does."""
        return nullcontext()


class RankOrder:
    """Original: the center serves one rank at a time, and never i + 1 before i (You et al., 2017, Algorithm 1).

    The paper's sends block until they are received. With a socket an answer would still be in transit while the next
    rank's message arrives; with the receipt an exchange lasts as long as in the paper.
    """

    needs_receipt = True

    def __init__(self, world: int, *, timeout_s: float) -> None:
        self._queue = list(range(world))  # the rank that is served next is first
        self._timeout_s = timeout_s
        self._changed = Condition()

    @contextmanager
    def exchange(self, rank: int) -> Iterator[None]:
        """Wait until the rank is first in the queue, and move it to the end after the exchange."""
        with self._changed:
            self._wait_until_first(rank)
        try:
            yield
        finally:
            with self._changed:
                if rank in self._queue:
                    self._queue.remove(rank)
                    self._queue.append(rank)
                self._changed.notify_all()

    def update(self) -> AbstractContextManager[object]:
        """Return an empty context: exchanges exclude each other already."""
        return nullcontext()

    @contextmanager
    def pause_updates(self) -> Iterator[None]:
        """Wait for the end of the round, as rank 0's next exchange would: all ranks have taken the same steps then."""
        with self._changed:
            if 0 in self._queue:
                self._wait_until_first(0)
            yield

    def _wait_until_first(self, rank: int) -> None:
        if not self._changed.wait_for(lambda: self._queue[0] == rank, self._timeout_s):
            late = self._queue[0]
            raise RankLost(f"rank {late} did not reach the center for {self._timeout_s:g} s", [late])

    def remove_rank(self, rank: int) -> None:
        """Remove the rank from the queue."""
        with self._changed:
            if rank in self._queue:
                self._queue.remove(rank)
            self._changed.notify_all()
