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
        """Return the sum of losses, the number of correct answers (NaN: the targets are no classes), and the count."""
        count = len(target)
        loss = self._loss(output, target).double() * count
        is_known = self._has_classes and isinstance(output, Tensor) and output.dim() == target.dim() + 1
        correct = (output.argmax(dim=1) == target).sum().double() if is_known else loss.new_tensor(math.nan)
        return torch.stack([loss, correct, loss.new_tensor(count)])
