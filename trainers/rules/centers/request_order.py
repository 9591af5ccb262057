"""In which order a center answers: what tells Original, Async and Hogwild EASGD (and SGD) apart.

An exchange is a talk (a replica's message comes in, the answer goes out) and within it updates of the center.
Async and Hogwild keep a pace (pace.py) and no order.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import Condition, Lock
from typing import Protocol

from trainers.collectives.wire.rank_lost import RankLost
from trainers.rules.centers.replica_pace import Pace


class Order(Protocol):
    asks_receipt: bool  # a talk ends when the replica says that it has the answer, not when that is on its way

    def talk(self, rank: int) -> AbstractContextManager[None]:
        """Wait until it is the rank's turn to talk."""
        ...

    def update(self) -> AbstractContextManager[object]:
        """Wait until the center may be changed."""
        ...

    def still(self) -> AbstractContextManager[object]:
        """On rank 0, between its talks: wait until nobody changes the center, and hold it as it is."""
        ...

    def leave(self, rank: int) -> None:
        """Reckon with this rank no more."""
        ...


class FirstCome(Pace):
    """Async: whoever comes first is served first; updates exclude each other."""

    asks_receipt = False

    def __init__(self, world: int, *, timeout_s: float) -> None:
        super().__init__(world, timeout_s=timeout_s)
        self._lock = Lock()

    def update(self) -> AbstractContextManager[object]:
        return self._lock

    def still(self) -> AbstractContextManager[object]:
        return self._lock


class LockFree(Pace):
    """Hogwild (Recht, Re, Wright & Niu, 2011): FirstCome without the lock; updates may overwrite each other."""

    asks_receipt = False

    def update(self) -> AbstractContextManager[object]:
        return nullcontext()

    def still(self) -> AbstractContextManager[object]:
        return nullcontext()  # never still: what is read is of several moments, as every replica reads it


class RankOrder:
    """Original: the center talks to one rank at a time, and never to i + 1 before i (You et al., 2017, Algorithm 1).

    The paper's sends block until they are received. On a socket an answer would still be on the wire while the next
    rank's message comes in; the receipt makes a talk as long as it is there.
    """

    asks_receipt = True

    def __init__(self, world: int, *, timeout_s: float) -> None:
        self._queue = list(range(world))  # whose turn it is stands first
        self._timeout_s = timeout_s
        self._changed = Condition()

    @contextmanager
    def talk(self, rank: int) -> Iterator[None]:
        with self._changed:
            self._wait_for_turn(rank)
        try:
            yield
        finally:
            with self._changed:
                if rank in self._queue:
                    self._queue.remove(rank)
                    self._queue.append(rank)
                self._changed.notify_all()

    def update(self) -> AbstractContextManager[object]:
        return nullcontext()

    @contextmanager
    def still(self) -> Iterator[None]:
        """Wait for the end of the round, which its next talk would wait for as well: a cut at one step of all ranks."""
        with self._changed:
            if 0 in self._queue:
                self._wait_for_turn(0)
            yield

    def _wait_for_turn(self, rank: int) -> None:
        if not self._changed.wait_for(lambda: self._queue[0] == rank, self._timeout_s):
            late = self._queue[0]
            raise RankLost(f"rank {late} did not take its turn at the center for {self._timeout_s:g} s", [late])

    def leave(self, rank: int) -> None:
        with self._changed:
            if rank in self._queue:
                self._queue.remove(rank)
            self._changed.notify_all()
