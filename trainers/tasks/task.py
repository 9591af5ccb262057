"""What a net is trained for: how its outputs on held-out samples are judged, whatever loss it trained with."""

from typing import Protocol

from torch import Tensor


class Task(Protocol):
    def tally(self, output: Tensor, target: Tensor) -> Tensor:
        """Return a batch's sum of losses, how many answers are right, of how many; float64, to be summed further."""
        ...
