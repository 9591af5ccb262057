"""WorkerPool: the worker processes of a rank, which live as long as the rank and serve several streams of batches."""

import signal
import threading
from collections.abc import Iterable
from itertools import count
from multiprocessing import connection, forkserver, get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import torch
from torch import Tensor

from trainers.data.shared_tensor import to_shared_memory
from trainers.data.split import Batch, Split
from trainers.data.workers.messages import (
    CloseStream,
    Constant,
    Failure,
    HasConstants,
    LoadBatch,
    Loaded,
    OpenSplit,
    Request,
    encode,
)
from trainers.data.workers.process import CLOSED_SLOTS, IGNORED_SIGNALS, run_worker


class WorkerLost(RuntimeError):
    """A worker process has ended unexpectedly."""


class WorkerPool:
    """Starts `workers` processes; a thread of this process takes their batches."""

    def __init__(self, workers: int, *, pins: bool = False) -> None:
        """`pins`: copy batches to page-locked memory, from which a GPU reads them while it computes."""
        context = get_context("forkserver")  # a fork of this process would inherit locks that gloo's threads hold
        context.set_forkserver_preload([run_worker.__module__])
        _start_server()
        self._is_closed = to_shared_memory(torch.zeros(CLOSED_SLOTS, dtype=torch.bool))
        self._connections: list[Connection] = []
        self._processes: list[BaseProcess] = []
        for _ in range(workers):
            own, theirs = context.Pipe()
            process = context.Process(target=run_worker, args=(theirs, self._is_closed), daemon=True)
            process.start()
            theirs.close()
            self._connections.append(own)
            self._processes.append(process)
        self._waiting = [0] * workers  # batches that each worker has still to load
        self._constants: dict[int, tuple[int, object]] = {}  # by id; the reference keeps the id in use
        self._numbers, self._streams = count(), count()
        self._changed = threading.Condition()
        self._wanted: dict[int, int] = {}  # number of a batch -> its worker
        self._loaded: dict[int, Batch | Failure | None] = {}
        self._lost: Exception | None = None
        self._is_stopped, self._pins = False, pins
        self._receiver = threading.Thread(target=self._receive, daemon=True)
        self._receiver.start()

    def __len__(self) -> int:
        return len(self._connections)

    def open_stream(self, split: Split) -> int:
        """Send a split to all workers; return the number of the stream."""
        stream = next(self._streams)
        self._is_closed[stream % CLOSED_SLOTS] = False
        for part in split.constants if isinstance(split, HasConstants) else ():
            if id(part) not in self._constants:
                key = len(self._constants)
                self._send(Constant(key, part))
                self._constants[id(part)] = key, part
        self._send(OpenSplit(stream, split))
        return stream

    def close_stream(self, stream: int, numbers: Iterable[int]) -> None:
        """Forget a stream and its batches that were not taken."""
        self._is_closed[stream % CLOSED_SLOTS] = True
        with self._changed:
            for number in numbers:
                self._wanted.pop(number, None)
                self._loaded.pop(number, None)
        if self._lost is None and not self._is_stopped:
            self._send(CloseStream(stream))

    def submit(self, stream: int, index_B: Tensor) -> int:
        """Let the worker with the least work load a batch; return the number of the batch."""
        number = next(self._numbers)
        with self._changed:
            worker = self._waiting.index(min(self._waiting))
            self._waiting[worker] += 1
            self._wanted[number] = worker
        self._send(LoadBatch(number, stream, index_B.numpy()), [worker])
        return number

    def take(self, number: int) -> Batch | Failure:
        """Wait for a batch and return it; raise WorkerLost if a worker has ended."""
        with self._changed:
            self._changed.wait_for(lambda: number in self._loaded or self._lost is not None)
            if number not in self._loaded:
                self._raise_lost()
            self._wanted.pop(number)
            batch = self._loaded.pop(number)
        assert batch is not None  # only batches of closed streams are skipped
        return batch

    def close(self) -> None:
        """End the workers."""
        self._is_stopped = True
        self._is_closed.fill_(True)
        for process in self._processes:
            process.kill()  # a worker has no state that must be kept, and may be within a long batch
            process.join()
        self._receiver.join()
        for own in self._connections:
            own.close()

    def _send(self, message: Request, workers: Iterable[int] | None = None) -> None:
        keys = {identity: key for identity, (key, _) in self._constants.items()}
        for worker in range(len(self)) if workers is None else workers:
            try:
                # encoded for each worker, because a file descriptor in a message can be taken once
                self._connections[worker].send_bytes(encode(message, keys))
            except OSError as error:
                self._lost = self._lost or error
                self._raise_lost()

    def _raise_lost(self) -> None:
        error = self._lost
        raise WorkerLost(
            f"a worker process that loads batches for this rank has ended ({error or 'its connection was closed'}); "
            "it may have run out of memory"
        ) from error

    def _receive(self) -> None:
        """Take the batches of all workers as they come, so that a step finds its batch in this process."""
        while not self._is_stopped:
            try:
                for ready in connection.wait(self._connections):
                    assert isinstance(ready, Connection)
                    self._store(self._connections.index(ready), ready.recv())
            except (EOFError, OSError, RuntimeError, ValueError) as error:
                with self._changed:
                    self._lost = error
                    self._changed.notify_all()
                return

    def _store(self, worker: int, loaded: Loaded) -> None:
        batch = loaded.batch
        if self._pins and isinstance(batch, tuple):
            batch = _pin(batch)
        with self._changed:
            self._waiting[worker] -= 1
            if loaded.number in self._wanted:
                self._loaded[loaded.number] = batch
                self._changed.notify_all()


def _pin(batch: Batch) -> Batch:
    inputs, target = batch
    pinned = inputs.pin_memory() if isinstance(inputs, Tensor) else tuple(part.pin_memory() for part in inputs)
    return pinned, target.pin_memory()


def _start_server() -> None:
    """Start the forkserver with the signals blocked, so that its workers start with blocked signals."""
    resource_tracker.ensure_running()  # otherwise the server starts the tracker, which unblocks the signals
    before = signal.pthread_sigmask(signal.SIG_BLOCK, IGNORED_SIGNALS)
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)  # signals that arrived meanwhile are delivered now
