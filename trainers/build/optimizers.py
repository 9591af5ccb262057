"""Build the optimizer."""

from typing import assert_never

import torch
from torch import nn

from contract.spec.choices import optimizers as choices
from contract.spec.choices.rules import Sync
from contract.spec.run import RunSpec
from trainers.build.imported import describe, make_part
from trainers.generators.seeds import alike
from trainers.optimizers.adam import make_adam
from trainers.optimizers.clip import clip
from trainers.optimizers.exact_state import ExactState
from trainers.optimizers.exempt import adapting_groups, decaying_groups, has_normalization, parameters_of_norms
from trainers.optimizers.fused import make_sgd
from trainers.optimizers.gradient_check import GradientCheck
from trainers.optimizers.lamb import LAMB
from trainers.optimizers.lars import LARS
from trainers.optimizers.rate_inside import RateInsideSGD
from trainers.preconditioners.kfac import KFAC
from trainers.training.precision import WIRE_SCALE, LossScale


def build_loss_scale(run: RunSpec) -> LossScale | None:
    """Return the loss scale of a run whose gradients are float16 in the passes or in the messages, else None."""
    if run.precision == "float16":
        return LossScale()
    sends = isinstance(run.rule, Sync) and run.resources.world > 1
    return LossScale(WIRE_SCALE) if sends and getattr(run.collective, "wire", None) == "float16" else None


def build_optimizer(
    run: RunSpec,
    model: nn.Module,
    scale: LossScale | None = None,
    preconditioner: KFAC | None = None,
    check: GradientCheck | None = None,
) -> torch.optim.Optimizer:
    """Return the optimizer of one replica; the training loop sets its learning rate before every step."""
    built = _build(run.optimizer, model, seed=run.seed)
    ExactState(built)
    if scale is not None:
        scale.attach(built)  # before what follows, which needs unscaled gradients
    if preconditioner is not None:
        preconditioner.attach(built)
    if check is not None:
        check.attach(built)
    if run.clip_norm is not None:
        clip(built, run.clip_norm, check)
    return built


def note_on_skip(run: RunSpec, model: nn.Module) -> str | None:
    """Return what LARS's `skip` means for this net, if results are known to depend on it."""
    choice = run.optimizer
    if not isinstance(choice, choices.LARS):
        return None
    if choice.skip == "none":
        if not (count := len(parameters_of_norms(model))):
            return None
        return f"LARS adapts the rate of {count} parameters of normalization too; optimizer.skip bias_and_norm does not"
    if not has_normalization(model):
        return (
            f"the net has no normalization, and optimizer.skip {choice.skip} gives its biases the schedule's whole "
            "rate: if the run diverges, choose none"
        )
    return None


def _build(choice: choices.Optimizer, model: nn.Module, *, seed: int) -> torch.optim.Optimizer:
    match choice:
        case choices.SGD():
            return _build_sgd(choice, model)
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
        case choices.ImportedOptimizer():
            with alike(seed, "optimizer"):
                return _build_own(choice, model)
        case _:
            assert_never(choice)


def _build_sgd(choice: choices.SGD, model: nn.Module) -> torch.optim.Optimizer:
    groups = decaying_groups(model, choice.no_weight_decay)
    momentum, weight_decay = choice.momentum, choice.weight_decay
    if choice.form == "rate_inside" and momentum:  # without momentum the forms are equal, and need no velocity
        return RateInsideSGD(groups, lr=0.0, momentum=momentum, weight_decay=weight_decay)
    return make_sgd(groups, momentum=momentum, weight_decay=weight_decay, nesterov=choice.nesterov)


def _build_own(choice: choices.ImportedOptimizer, model: nn.Module) -> torch.optim.Optimizer:
    """Return a user's optimizer; raise TypeError or ValueError if it cannot train this model."""
    built = make_part(choice, decaying_groups(model, choice.no_weight_decay))
    if not isinstance(built, torch.optim.Optimizer):
        raise TypeError(f"{choice.function} returned {describe(built)}, not a torch.optim.Optimizer")
    here = {p for group in built.param_groups for p in group["params"]}
    if missing := [name for name, p in model.named_parameters() if p not in here]:
        raise ValueError(f"the optimizer of {choice.function} has no {missing[0]}: it must have all parameters it gets")
    if any("lr" not in group for group in built.param_groups):
        raise ValueError(f"a group of the optimizer of {choice.function} has no lr, which the schedule sets")
    return built
