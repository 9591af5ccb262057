"""What the ranks ask of each other at a step: to pause, or to save.

The wishes ride with the loss through the rule's all-reduce, so they cost no message; all ranks hear the same sum at
the same step, and one rank's wish is everybody's.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


class Wishes:
    """This rank's wishes for the end of the step under way, and what all ranks agreed on at the last one."""

    def __init__(self) -> None:
        self.pause, self.save = False, False
        self.agreed_pause, self.agreed_save = False, False

    def with_loss(self, loss: Tensor) -> Tensor:
        """The loss and the wishes as one vector for the rule."""
        wishes_2 = torch.tensor([self.pause, self.save], dtype=loss.dtype, device=loss.device)
        return torch.cat([loss.reshape(1), wishes_2])

    def hear(self, means_2: Sequence[float]) -> None:
        """Take in the means over the ranks: above 0 when any rank wished it."""
        pause, save = means_2
        self.agreed_pause, self.agreed_save = pause > 0, save > 0
