"""A split of a data set: numbered images with their classes, asked for by the batch."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

Inputs = Tensor | tuple[Tensor, ...]
Batch = tuple[Inputs, Tensor]  # what the model is called with, and what it should say
Placed = tuple[tuple[Tensor, ...], Tensor]  # the same on its device, a single input in a tuple too


def to_device(batch: Batch, device: torch.device, *, channels_last: bool = False) -> Placed:
    """Bring a batch to a device; with `channels_last` its images lie with their channels innermost."""
    inputs, target = batch
    parts = (inputs,) if isinstance(inputs, Tensor) else inputs
    there = tuple(part.to(device, non_blocking=True, memory_format=_layout(part, channels_last)) for part in parts)
    return there, target.to(device, non_blocking=True)


def _layout(part: Tensor, channels_last: bool) -> torch.memory_format:
    return torch.channels_last if channels_last and part.dim() == 4 else torch.preserve_format


class Split(Protocol):
    """Images 0 to len - 1; the same number is the same image on every rank."""

    def __len__(self) -> int: ...

    def batch(self, index_B: Tensor) -> Batch:
        """Return images x_BCHW and classes y_B; of sentence pairs, (source_BS, target_in_BT) and target_out_BT."""
        ...


@runtime_checkable
class Arranged(Split, Protocol):
    """A split that has a say in which samples share a batch, as sentences of one length do."""

    def arrange(self, order_N: Tensor, batch: int) -> Tensor:
        """Return an epoch's order in another one, which depends on it and the global batch alone."""
        ...


@runtime_checkable
class Staged(Split, Protocol):
    """A split that gets ready for every epoch, as one of random crops does, or one that lies in the ranks' memory."""

    def stage(self, epoch: int, takes: Callable[[int], Tensor]) -> Split:
        """Return the split as it is in an epoch in which rank r takes the samples takes(r); all ranks call this."""
        ...


class Stored:
    """A split that lies in memory."""

    def __init__(self, x_NCHW: Tensor, y_N: Tensor) -> None:
        self.x_NCHW, self.y_N = x_NCHW, y_N

    def __len__(self) -> int:
        return len(self.y_N)

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        return self.x_NCHW[index_B], self.y_N[index_B]


class Grays:
    """A split that lies in memory as bytes; a batch is normalized when it is asked for."""

    def __init__(self, x_N1HW: Tensor, y_N: Tensor, *, like: "Grays | None" = None) -> None:
        """Normalize by the mean and deviation of these images, or of those of the split `like`."""
        self.x_N1HW, self.y_N = x_N1HW, y_N
        moments = (like.mean, like.deviation) if like else _moments(x_N1HW)
        self.mean: float = moments[0]
        self.deviation: float = moments[1]

    def __len__(self) -> int:
        return len(self.y_N)

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        return (self.x_N1HW[index_B].float() - self.mean) / self.deviation, self.y_N[index_B]


def _moments(x_N1HW: Tensor) -> tuple[float, float]:
    """Mean and deviation of bytes, exact because the sums are of whole numbers."""
    count_K = torch.bincount(x_N1HW.flatten(), minlength=256)
    value_K, count = torch.arange(256), x_N1HW.numel()
    mean = int((count_K * value_K).sum()) / count
    variance = int((count_K * value_K**2).sum()) / count - mean**2
    return mean, max(variance, 1.0) ** 0.5
