"""Build the optimizer."""

from typing import assert_never

import torch
from torch import nn

from contract.spec.choices import optimizers as choices
from contract.spec.run import RunSpec
from trainers.optimizers.adam import make_adam
from trainers.optimizers.clip import clip
from trainers.optimizers.exempt import adapting_groups, decaying_groups
from trainers.optimizers.lamb import LAMB
from trainers.optimizers.lars import LARS
from trainers.training.precision import LossScale


def build_optimizer(run: RunSpec, model: nn.Module, scale: LossScale | None = None) -> torch.optim.Optimizer:
    """Return the optimizer of one replica; the training loop sets its learning rate before every step."""
    built = _build(run.optimizer, model)
    if scale is not None:
        scale.attach(built)  # before clipping, which needs unscaled gradients
    if run.clip_norm is not None:
        clip(built, run.clip_norm)
    return built


def _build(choice: choices.Optimizer, model: nn.Module) -> torch.optim.Optimizer:
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
        case choices.Adam() | choices.AdamW():
            return make_adam(
                decaying_groups(model, choice.no_weight_decay),
                decoupled=choice.kind == "adamw",
                betas=(choice.beta1, choice.beta2),
                weight_decay=choice.weight_decay,
                epsilon=choice.epsilon,
            )
        case _:
            assert_never(choice)
