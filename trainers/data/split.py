"""Splits of a data set: numbered samples with their targets, read in batches."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from trainers.data.float_types import FloatTypes

Inputs = Tensor | tuple[Tensor, ...]
Batch = tuple[Inputs, Tensor]  # the inputs of the model, and the target
SamplesOf = Callable[[range], Tensor]  # ranks -> number_RS: the samples that each of these ranks uses in an epoch
DeviceBatch = tuple[tuple[Tensor, ...], Tensor]  # a batch on its device; also a single input is a tuple
UNCHANGED = FloatTypes()


class Split(Protocol):
    """Samples 0 to len - 1; a number means the same sample on every rank."""

    def __len__(self) -> int: ...

    def batch(self, index_B: Tensor) -> Batch:
        """Return images x_BCHW and classes y_B; of sentence pairs, (source_BS, target_in_BT) and target_out_BT."""
        ...


@runtime_checkable
class NumberedTargets(Protocol):
    """A split that knows numbers from which all its targets follow, such as the targets, without a read of samples."""

    def target_numbers(self) -> Tensor:
        """Return the numbers."""
        ...


@runtime_checkable
class PixelSplit(Split, Protocol):
    """A split of images whose batches are bytes, which become the net's inputs on its device."""

    def normalize(self, pixels_BCHW: Tensor) -> Tensor:
        """Return x_BCHW in the memory format of the pixels."""
        ...


@runtime_checkable
class OrderedSplit(Split, Protocol):
    """A split that selects which samples share a batch, such as sentences of similar length."""

    def arrange(self, order_N: Tensor, batch: int) -> Tensor:
        """Return a reordered epoch, which depends only on `order_N` and the global batch."""
        ...


@runtime_checkable
class StagedSplit(Split, Protocol):
    """A split that is prepared for every epoch, such as random crops or samples in the ranks' memory."""

    @property
    def is_exchanged(self) -> bool:
        """Whether `stage` exchanges samples between the ranks: then it runs in a thread, at one step on all ranks."""
        ...

    def stage(self, epoch: int, samples_of: SamplesOf) -> Split:
        """Return the split for an epoch in which ranks use samples_of(ranks); all ranks must call this."""
        ...


def to_device(
    batch: Batch, split: Split, device: torch.device, *, channels_last: bool = False, types: FloatTypes = UNCHANGED
) -> DeviceBatch:
    """Copy a batch of a split to a device; with `channels_last` its images use that memory format.

    `types`: of the net, to which inputs and targets are converted, after the copy, so that the host does not wait.
    """
    inputs, target = batch
    moved_target = types.convert(target.to(device, non_blocking=True))
    normalize = getattr(split, "normalize", None)  # of a PixelSplit; isinstance takes ten times as long
    if normalize is not None:
        assert isinstance(inputs, Tensor)
        # the memory format changes after the copy, because a copy that changes it first makes another on the host
        layout = torch.channels_last if channels_last else torch.contiguous_format
        pixels_BCHW = inputs.to(device, non_blocking=True).contiguous(memory_format=layout)
        return (types.convert(normalize(pixels_BCHW)),), moved_target
    parts = (inputs,) if isinstance(inputs, Tensor) else inputs
    moved = (part.to(device, non_blocking=True, memory_format=_layout(part, channels_last)) for part in parts)
    return tuple(types.convert(part) for part in moved), moved_target


def _layout(part: Tensor, channels_last: bool) -> torch.memory_format:
    return torch.channels_last if channels_last and part.dim() == 4 else torch.preserve_format


class TensorSplit:
    """A split whose tensors are in memory."""

    def __init__(self, x_NCHW: Tensor, y_N: Tensor) -> None:
        self.x_NCHW, self.y_N = x_NCHW, y_N

    def __len__(self) -> int:
        return len(self.y_N)

    def target_numbers(self) -> Tensor:
        """Return the targets."""
        return self.y_N

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        """Return x_BCHW and y_B."""
        return self.x_NCHW[index_B], self.y_N[index_B]


class GraySplit:
    """A split of gray images in memory as bytes; a batch is normalized when it is read."""

    def __init__(self, x_N1HW: Tensor, y_N: Tensor, *, like: "GraySplit | None" = None) -> None:
        """Normalize by the mean and deviation of these images, or by those of the split `like`."""
        self.x_N1HW, self.y_N = x_N1HW, y_N
        moments = (like.mean, like.deviation) if like else _moments(x_N1HW)
        self.mean: float = moments[0]
        self.deviation: float = moments[1]

    def __len__(self) -> int:
        return len(self.y_N)

    def target_numbers(self) -> Tensor:
        """Return the targets."""
        return self.y_N

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        """Return normalized x_B1HW and y_B."""
        return (self.x_N1HW[index_B].float() - self.mean) / self.deviation, self.y_N[index_B]


def _moments(x_N1HW: Tensor) -> tuple[float, float]:
    """Return mean and deviation of bytes, computed exactly from integer sums."""
    count_K = torch.bincount(x_N1HW.flatten(), minlength=256)
    value_K, count = torch.arange(256), x_N1HW.numel()
    mean = int((count_K * value_K).sum()) / count
    variance = int((count_K * value_K**2).sum()) / count - mean**2
    return mean, max(variance, 1.0) ** 0.5
