"""Load batches in worker processes, in order, while the previous step runs.

This module adds to torch's DataLoader: workers ignore the signals that a whole job gets, which their rank handles, and
exit when their rank has ended for any reason; an exception in a worker reaches the rank unchanged, with the worker's
traceback; and the rank's random number generators stay unchanged, so that a resumed run draws the same numbers.
"""

import os
import pickle
import signal
import threading
import traceback
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import forkserver, get_context, parent_process, resource_tracker
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from trainers.data.split import Batch, Split

PREFETCH = 2  # batches that each worker loads ahead of the current batch
IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


class WorkerTraceback(Exception):
    """The traceback of an exception in a worker: the cause of that exception in the rank."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class WorkerLost(RuntimeError):
    """A worker process has ended unexpectedly."""


def load(split: Split, indices: Iterable[Tensor], *, workers: int) -> Generator[Batch]:
    """Yield `split.batch(index_B)` for every index_B, in order; with `workers` > 0 that many processes load batches.

    Closing the iterator ends the processes. A worker that dies raises WorkerLost within seconds.
    """
    if not workers:
        yield from map(split.batch, indices)
        return
    context = get_context("forkserver")  # a fork of this process would inherit locks that gloo's threads hold
    context.set_forkserver_preload([__name__])
    _start_server()
    loader: DataLoader[Loaded] = DataLoader(
        _BatchDataset(split),
        batch_size=None,
        sampler=(index_B.numpy() for index_B in indices),
        num_workers=workers,
        prefetch_factor=PREFETCH,
        collate_fn=_identity,
        pin_memory=torch.cuda.is_available(),
        worker_init_fn=_initialize_worker,
        multiprocessing_context=context,
        generator=torch.Generator(),  # DataLoader draws a seed from this generator instead of the rank's
    )
    batches: Any = iter(loader)
    try:
        while (loaded := _next(batches)) is not None:
            if isinstance(loaded, _Failure):
                raise loaded.error from WorkerTraceback(loaded.trace)
            yield loaded
    finally:
        batches._shutdown_workers()  # torch does this with the last reference, which a traceback may hold


def _start_server() -> None:
    """Start the forkserver with the signals blocked, so that its workers start with blocked signals."""
    resource_tracker.ensure_running()  # otherwise the server starts the tracker, which unblocks the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED_SIGNALS)
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)  # signals that arrived meanwhile are delivered now


def _next(batches: "Iterator[Loaded]") -> "Loaded | None":
    try:
        return next(batches, None)
    except (EOFError, OSError, RuntimeError) as error:  # the type depends on the interrupted operation
        message = (
            f"a worker process that loads batches for this rank has ended ({error}); it may have run out of memory"
        )
        raise WorkerLost(message) from error


@dataclass(frozen=True)
class _Failure:
    error: Exception
    trace: str


Loaded = Batch | _Failure


class _BatchDataset(Dataset[Loaded]):
    """Map an index tensor to a batch, or to the exception that it raised."""

    def __init__(self, split: Split) -> None:
        self._split = split

    def __getitem__(self, index_B: NDArray[np.int64]) -> Loaded:
        try:
            return self._split.batch(torch.from_numpy(index_B))
        except Exception as error:
            trace = traceback.format_exc()
            return _Failure(_picklable(error), trace)


def _picklable(error: Exception) -> Exception:
    """Return the error, or a RuntimeError with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return error


def _identity(loaded: Any) -> Any:
    return loaded


def _initialize_worker(worker: int) -> None:
    for number in IGNORED_SIGNALS:  # needed if another part of the rank had started the forkserver before
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
