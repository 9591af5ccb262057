"""Batches made ahead by worker processes, in order, while the step before them runs.

torch's DataLoader does the work. What is added: workers outlive the signals that a whole job gets (their rank decides
what those mean) and leave when their rank is gone, however it went; an error in a worker reaches the rank as itself,
with the worker's trace; and the rank's own random numbers stay untouched, so that a run that begins an epoch twice (a
resumed one) draws the same as one that did not.
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

AHEAD = 2  # batches that each worker has made or is making beyond the one in use
PASSED_OVER = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)


class InWorker(Exception):
    """Where in a worker an error arose: the cause of that error in its rank."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class WorkerLost(RuntimeError):
    """A worker has ended without a word."""


def load(split: Split, indices: Iterable[Tensor], *, workers: int) -> Generator[Batch]:
    """Yield `split.batch(index_B)` for every index_B in turn; with workers, made ahead by that many processes.

    Closing the iterator ends them. A worker that dies raises WorkerLost within seconds.
    """
    if not workers:
        yield from map(split.batch, indices)
        return
    context = get_context("forkserver")  # a fork of this process would inherit locks that gloo's threads hold
    context.set_forkserver_preload([__name__])
    _start_server()
    loader: DataLoader[Made] = DataLoader(
        _Making(split),
        batch_size=None,
        sampler=(index_B.numpy() for index_B in indices),
        num_workers=workers,
        prefetch_factor=AHEAD,
        collate_fn=_as_it_is,
        pin_memory=torch.cuda.is_available(),
        worker_init_fn=_settle,
        multiprocessing_context=context,
        generator=torch.Generator(),  # it draws a seed from this one, and not from the rank's
    )
    batches: Any = iter(loader)
    try:
        while (made := _next(batches)) is not None:
            if isinstance(made, _Failure):
                raise made.error from InWorker(made.trace)
            yield made
    finally:
        batches._shutdown_workers()  # torch does so when the last reference goes, which an error's trace may hold


def _start_server() -> None:
    """Start the workers' server with the signals blocked; its workers are from their first instruction on."""
    resource_tracker.ensure_running()  # the server would start it, and with that unblock them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_OVER)
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)  # what came meanwhile is heard now


def _next(batches: "Iterator[Made]") -> "Made | None":
    try:
        return next(batches, None)
    except (EOFError, OSError, RuntimeError) as error:  # which of these depends on what was under way
        message = f"a process that makes batches for this rank is gone ({error}); did it take too much memory?"
        raise WorkerLost(message) from error


@dataclass(frozen=True)
class _Failure:
    error: Exception
    trace: str


Made = Batch | _Failure


class _Making(Dataset[Made]):
    """What a worker does: an index in, a batch or what went wrong out."""

    def __init__(self, split: Split) -> None:
        self._split = split

    def __getitem__(self, index_B: NDArray[np.int64]) -> Made:
        try:
            return self._split.batch(torch.from_numpy(index_B))
        except Exception as error:
            trace = traceback.format_exc()
            return _Failure(_that_travels(error), trace)


def _that_travels(error: Exception) -> Exception:
    """The error, or one that says the same where it cannot be sent to another process."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return error


def _as_it_is(made: Any) -> Any:
    return made


def _settle(worker: int) -> None:
    for number in PASSED_OVER:  # once more: another part of this process may have started the server before
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
