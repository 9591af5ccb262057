"""Auxiliary classifiers weighted into the loss (Szegedy et al., GoogLeNet, 2014, arXiv:1409.4842, section 5).

L = L_last + w sum_i L_i,   w = 0.3 in the paper

A net that is evaluated leaves its auxiliary heads out, and the loss is that of its last head.
"""

from torch import Tensor

from trainers.losses.loss import Loss, Output


class Heads:
    """`loss` of every head of a net, those behind the first times `weight`."""

    def __init__(self, loss: Loss, *, weight: float) -> None:
        self.loss, self.weight = loss, weight

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Compare one tensor of logits, or a tuple of them with the last head's first, with the truth."""
        if isinstance(output, Tensor):
            return self.loss(output, target)
        last, *auxiliary = output
        total = self.loss(last, target)
        for logits in auxiliary:
            total = total + self.weight * self.loss(logits, target)
        return total
