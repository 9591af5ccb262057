"""Auxiliary classifiers weighted into the loss (Szegedy et al., GoogLeNet, 2014, arXiv:1409.4842, section 5).

L = L_last + w sum_i L_i,   w = 0.3 in the paper

In an evaluation the net has no auxiliary heads, and the loss is that of the last head.
"""

from torch import Tensor

from trainers.losses.loss import Loss, Output


class Heads:
    """The sum of `loss` over all heads; the auxiliary heads are multiplied by `weight`."""

    def __init__(self, loss: Loss, *, weight: float) -> None:
        self.loss, self.weight = loss, weight

    def __call__(self, output: Output, target: Tensor) -> Tensor:
        """Return the loss of one tensor of logits, or of a tuple of logits with the last head's first."""
        if isinstance(output, Tensor):
            return self.loss(output, target)
        last, *auxiliary = output
        total = self.loss(last, target)
        for logits in auxiliary:
            total = total + self.weight * self.loss(logits, target)
        return total
