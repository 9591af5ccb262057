"""Task: the interface that evaluates a model's outputs on held-out samples, independently of the training loss."""

from typing import Protocol

from torch import Tensor


class Task(Protocol):
    """Computes the held-out loss and accuracy."""

    def tally(self, output: Tensor, target: Tensor) -> Tensor:
        """Return a batch's sum of losses, number of correct answers, and number of answers, as float64 (3)."""
        ...
