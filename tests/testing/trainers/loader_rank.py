"""A rank for tests of the loader: it writes the ids of its workers and waits in the middle of an epoch."""

import signal
import threading
import time
from contextlib import suppress
from multiprocessing import active_children
from pathlib import Path

import psutil
import torch
from torch import Tensor

from trainers.data.loader import load
from trainers.data.split import Batch


class Slow:
    """Samples that load slowly."""

    def __len__(self) -> int:
        return 1000

    def batch(self, index_B: Tensor) -> Batch:
        time.sleep(0.02)
        return index_B.float(), index_B


def run_rank(pids: Path) -> None:
    """Load one batch, write the ids of the workers to `pids`, and wait."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])  # the forkserver may have blocked it
    batches = load(Slow(), torch.arange(1000).split(2), workers=2)
    next(batches)
    pids.write_text(" ".join(str(child.pid) for child in active_children()))
    time.sleep(300)


def load_under_signals() -> None:
    """Load all batches while all child processes get SIGTERM repeatedly."""
    stop = threading.Event()
    threading.Thread(target=_signal_children, args=(stop,)).start()
    try:
        targets = [target for _, target in load(Slow(), torch.arange(40).split(2), workers=2)]
    finally:
        stop.set()
    assert torch.equal(torch.cat(targets), torch.arange(40))


def _signal_children(stop: threading.Event) -> None:
    while not stop.wait(0.005):
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # the process may have ended
                if not any("resource_tracker" in word for word in child.cmdline()):
                    child.terminate()
