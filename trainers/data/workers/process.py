"""The program of a worker process: load the batches that its rank asks for, one after the other.

A worker ignores the signals that a whole job gets, which its rank handles, and exits when its rank has ended for any
reason. An exception travels to the rank with its traceback.
"""

import os
import pickle
import signal
import threading
import traceback
from multiprocessing import parent_process
from multiprocessing.connection import Connection

import torch
from torch import Tensor

from trainers.data.split import Split
from trainers.data.workers.messages import CloseStream, Constant, Failure, LoadBatch, Loaded, OpenSplit, decode

IGNORED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
CLOSED_SLOTS = 256  # more than the streams that are open at once


def run_worker(connection: Connection, is_closed: Tensor) -> None:
    """Answer requests until the rank closes the connection; skip batches of streams that `is_closed` marks."""
    for number in IGNORED_SIGNALS:  # needed if another part of the rank had started the forkserver before
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    torch.set_num_threads(1)  # each worker has a core at most
    constants: dict[int, object] = {}
    splits: dict[int, Split] = {}
    while True:
        try:
            content = connection.recv_bytes()
        except EOFError:
            return
        match decode(content, constants):
            case Constant(key, part):
                constants[key] = part
            case OpenSplit(stream, split):
                splits[stream] = split
            case CloseStream(stream):
                del splits[stream]
            case LoadBatch() as request:
                skipped = bool(is_closed[request.stream % CLOSED_SLOTS])
                batch = None if skipped else _load(splits[request.stream], torch.from_numpy(request.index_B))
                connection.send(Loaded(request.number, batch))


def _load(split: Split, index_B: Tensor) -> "tuple[Tensor | tuple[Tensor, ...], Tensor] | Failure":
    try:
        return split.batch(index_B)
    except Exception as error:
        trace = traceback.format_exc()
        return Failure(_picklable(error), trace)


def _picklable(error: Exception) -> Exception:
    """Return the error, or a RuntimeError with its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return error


def _exit_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
