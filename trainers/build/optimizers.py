"""The optimizer."""

from typing import assert_never

import torch
from torch import nn

from contract.choices import optimizers as choices
from trainers.optimizers.lars import LARS
from trainers.optimizers.skip import param_groups


def optimizer(choice: choices.Optimizer, model: nn.Module) -> torch.optim.Optimizer:
    """What one replica does with its gradient; its rate is the schedule's, set before every step."""
    match choice:
        case choices.SGD():
            return torch.optim.SGD(
                model.parameters(),
                lr=0.0,
                momentum=choice.momentum,
                weight_decay=choice.weight_decay,
                nesterov=choice.nesterov,
            )
        case choices.LARS():
            return LARS(
                param_groups(model, choice.skip),
                lr=0.0,
                momentum=choice.momentum,
                weight_decay=choice.weight_decay,
                trust_coefficient=choice.trust_coefficient,
            )
        case _:
            assert_never(choice)
