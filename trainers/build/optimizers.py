"""The optimizer."""

from typing import assert_never

import torch
from torch import nn

from contract.spec.choices import optimizers as choices
from contract.spec.run import RunSpec
from trainers.optimizers.clip import clip
from trainers.optimizers.exempt import adapting_groups, decaying_groups
from trainers.optimizers.lamb import LAMB
from trainers.optimizers.lars import LARS
from trainers.training.precision import LossScale


def optimizer(run: RunSpec, model: nn.Module, scale: LossScale | None = None) -> torch.optim.Optimizer:
    """What one replica does with its gradient; its rate is the schedule's, set before every step."""
    made = _optimizer(run.optimizer, model)
    if scale is not None:
        scale.attach(made)  # first: clipping looks at true gradients
    if run.clip_norm is not None:
        clip(made, run.clip_norm)
    return made


def _optimizer(choice: choices.Optimizer, model: nn.Module) -> torch.optim.Optimizer:
    match choice:
        case choices.SGD():
            return torch.optim.SGD(
                decaying_groups(model, choice.no_weight_decay),
                lr=0.0,
                momentum=choice.momentum,
                weight_decay=choice.weight_decay,
                nesterov=choice.nesterov,
            )
        case choices.LARS():
            return LARS(
                adapting_groups(model, choice.skip),
                lr=0.0,
                momentum=choice.momentum,
                weight_decay=choice.weight_decay,
                trust_coefficient=choice.trust_coefficient,
                epsilon=choice.epsilon,
                form=choice.form,
            )
        case choices.LAMB():
            return LAMB(
                adapting_groups(model, choice.skip),
                lr=0.0,
                betas=(choice.beta1, choice.beta2),
                weight_decay=choice.weight_decay,
                epsilon=choice.epsilon,
            )
        case _:
            assert_never(choice)
