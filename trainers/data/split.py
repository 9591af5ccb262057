"""A split of a data set: numbered images with their classes, asked for by the batch."""

from typing import Protocol

import torch
from torch import Tensor

Batch = tuple[Tensor, Tensor]  # what the model is called with, and what it should say


class Split(Protocol):
    """Images 0 to len - 1; the same number is the same image on every rank."""

    def __len__(self) -> int: ...

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        """Return images x_BCHW and classes y_B."""
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
