"""A rank for tests of the loader: it says which processes work for it, and waits in the middle of an epoch."""

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
    """Samples that take a while."""

    def __len__(self) -> int:
        return 1000

    def batch(self, index_B: Tensor) -> Batch:
        time.sleep(0.02)
        return index_B.float(), index_B


def live(told: Path) -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])  # its server may have blocked it
    batches = load(Slow(), torch.arange(1000).split(2), workers=2)
    next(batches)
    told.write_text(" ".join(str(child.pid) for child in active_children()))
    time.sleep(300)


def struck() -> None:
    """Make all batches while whatever works for this process gets SIGTERM after SIGTERM."""
    over = threading.Event()
    threading.Thread(target=_strike_all, args=(over,)).start()
    try:
        made = [target for _, target in load(Slow(), torch.arange(40).split(2), workers=2)]
    finally:
        over.set()
    assert torch.equal(torch.cat(made), torch.arange(40))


def _strike_all(over: threading.Event) -> None:
    while not over.wait(0.005):
        for child in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):  # it may have ended meanwhile
                if not any("resource_tracker" in word for word in child.cmdline()):
                    child.terminate()
