"""What a run carries from one step to the next; with the spec, all that the rest of it depends on."""

from dataclasses import dataclass

from torch import nn
from torch.optim import Optimizer
from torch.optim.swa_utils import AveragedModel

from trainers.rules.rule import Rule


@dataclass
class State:
    """The parts that change while a run trains; the order of the data is a function of the spec and the step."""

    model: nn.Module
    optimizer: Optimizer
    rule: Rule
    step: int = 0  # steps taken
    average: AveragedModel | None = None  # of the model's weights over the steps, where the spec wants one

    @property
    def judged(self) -> nn.Module:
        """The net that is evaluated: the average where there is one."""
        return self.model if self.average is None else self.average.module
