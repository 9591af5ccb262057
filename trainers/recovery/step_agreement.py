"""What the ranks ask of each other at a step: to pause, or to save.

The wishes ride with the loss through the rule's exchange, so they cost no message. Under a synchronous rule all ranks
hear the same sum at the same step, and one rank's wish is everybody's. Where rank 0 serves a center it alone decides:
its wish is the step at which it saves, and every other rank hears it when it next comes to the center.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


class Wishes:
    """This rank's wishes for the end of the step under way, and what all ranks agreed on at the last one."""

    def __init__(self) -> None:
        self.pause, self.save = False, False
        self.agreed_pause, self.agreed_save = False, False
        self.step = 1  # that a wish is told by; any but 0 where all ranks are at the same one
        self.agreed_step = 0  # by which rank 0 told its wish, where it alone decides

    @property
    def told(self) -> list[float]:
        """What the rule tells the other ranks."""
        return [float(self.step * self.pause), float(self.step * self.save)]

    def with_loss(self, loss: Tensor) -> Tensor:
        """The loss and the wishes as one vector for the rule, in a type that holds any step."""
        wishes_2 = torch.tensor(self.told, dtype=torch.float64, device=loss.device)
        return torch.cat([loss.reshape(1).double(), wishes_2])

    def hear(self, means_2: Sequence[float]) -> None:
        """Take in the means over the ranks: above 0 when any rank wished it."""
        pause, save = means_2
        self.agreed_pause, self.agreed_save = pause > 0, save > 0
        self.agreed_step = round(max(pause, save))
