"""A rank for tests of the loader: it says which processes work for it, and waits in the middle of an epoch."""

import time
from multiprocessing import active_children
from pathlib import Path

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
    batches = load(Slow(), torch.arange(1000).split(2), workers=2)
    next(batches)
    told.write_text(" ".join(str(child.pid) for child in active_children()))
    time.sleep(300)
