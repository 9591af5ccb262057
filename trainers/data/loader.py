"""Load batches in worker processes, in order, while the previous step runs.

The workers start once and serve all epochs and evaluations, and a stream can be filled before it is read, so an epoch
begins with batches that were loaded during the epoch before. An exception in a worker reaches the rank unchanged, with
the worker's traceback; the rank's random number generators stay unchanged, so a resumed run draws the same numbers.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing
from typing import Protocol

from torch import Tensor

from trainers.data.split import Batch, Split
from trainers.data.workers.messages import Failure
from trainers.data.workers.pool import WorkerLost, WorkerPool

__all__ = ["PREFETCH", "Batches", "Loader", "WorkerLost", "WorkerTraceback", "load"]

PREFETCH = 2  # batches of a stream that each worker loads ahead of the current batch


class WorkerTraceback(Exception):
    """The traceback of an exception in a worker: the cause of that exception in the rank."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Batches(Protocol):
    """Batches in order, until `close`."""

    def __iter__(self) -> Iterator[Batch]: ...
    def __next__(self) -> Batch: ...

    def fill(self) -> None:
        """Begin to load the first batches."""
        ...

    def close(self) -> None:
        """Forget the batches that were not read."""
        ...


class Loader:
    """The source of all batches of a rank; with `workers` > 0 that many processes load them."""

    def __init__(self, workers: int = 0, *, pins: bool = False) -> None:
        """`pins`: the run's device is a GPU, so batches of the workers are copied to page-locked memory."""
        self._workers, self.pins = workers, pins
        self._pool: WorkerPool | None = None

    @property
    def loads_ahead(self) -> bool:
        """Return whether other processes load batches."""
        return self._workers > 0

    def start(self) -> None:
        """Start the workers, which take a second or two until they can load."""
        if self._workers and self._pool is None:
            self._pool = WorkerPool(self._workers, pins=self.pins)

    def batches(self, split: Split, indices: Iterable[Tensor], *, at_last: Callable[[], None] | None = None) -> Batches:
        """Return `split.batch(index_B)` for every index_B, in order.

        `at_last` is called while the batches are read, once the workers have got all of them: the time to fill the next
        stream. A worker that dies raises WorkerLost within seconds.
        """
        self.start()
        if self._pool is None:
            return _OwnBatches(split, indices)
        return _Stream(self._pool, split, indices, at_last=at_last)

    def close(self) -> None:
        """End the workers."""
        if self._pool is not None:
            self._pool.close()
            self._pool = None


def load(split: Split, indices: Iterable[Tensor], *, workers: int) -> Generator[Batch]:
    """Yield the batches of one stream; closing the iterator ends the workers."""
    with closing(Loader(workers)) as loader, closing(loader.batches(split, indices)) as batches:
        yield from batches


class _OwnBatches:
    """Batches that the rank itself loads when they are read."""

    def __init__(self, split: Split, indices: Iterable[Tensor]) -> None:
        self._batches: Iterator[Batch] = map(split.batch, indices)

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        return next(self._batches)

    def fill(self) -> None:
        pass

    def close(self) -> None:
        self._batches = iter(())


class _Stream:
    """Batches from the workers, some of them ahead of the reader."""

    def __init__(
        self, pool: WorkerPool, split: Split, indices: Iterable[Tensor], *, at_last: Callable[[], None] | None
    ) -> None:
        self._pool, self._indices, self._at_last = pool, iter(indices), at_last
        self._numbers: deque[int] = deque()
        self._is_drained = self._is_closed = False
        self._stream = pool.open_stream(split)

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if self._is_closed:
            raise StopIteration
        self.fill()
        if self._is_drained and self._at_last is not None:
            at_last, self._at_last = self._at_last, None
            at_last()
        if not self._numbers:
            raise StopIteration
        batch = self._pool.take(self._numbers.popleft())
        if isinstance(batch, Failure):
            raise batch.error from WorkerTraceback(batch.trace)
        self.fill()
        return batch

    def fill(self) -> None:
        """Let the workers load batches until PREFETCH for each worker are ahead of the reader."""
        while not self._is_drained and len(self._numbers) < PREFETCH * len(self._pool):
            index_B = next(self._indices, None)
            if index_B is None:
                self._is_drained = True
            else:
                self._numbers.append(self._pool.submit(self._stream, index_B))

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._pool.close_stream(self._stream, self._numbers)
            self._numbers.clear()
