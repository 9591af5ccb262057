"""A split of a data set: numbered images with their classes, asked for by the batch."""

from typing import Protocol

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
