"""The evaluation with a user's loss: the held-out loss is this loss; the accuracy is that of the classes."""

import math

import torch
from torch import Tensor

from trainers.losses.loss import Loss


class OwnTask:
    """Held-out loss: mean of `loss` over samples. Accuracy: fraction of samples whose largest output is the class."""

    def __init__(self, loss: Loss, *, has_classes: bool) -> None:
        self._loss, self._has_classes = loss, has_classes

    def tally(self, output: Tensor, target: Tensor) -> Tensor:
        """Return the sum of losses, the number of correct answers (NaN: the targets are no classes), and the count.

        The sum of losses is NaN if an output for a class is, even where a user's loss hides it: argmax would count NaN
        as the largest output.
        """
        count = len(target)
        loss = self._loss(output, target).double() * count
        if not (self._has_classes and isinstance(output, Tensor) and output.dim() == target.dim() + 1):
            return torch.stack([loss, loss.new_tensor(math.nan), loss.new_tensor(count)])
        loss = loss.masked_fill(output.isnan().any(), math.nan)
        correct = (output.argmax(dim=1) == target).sum().double()
        return torch.stack([loss, correct, loss.new_tensor(count)])
