"""From choices to objects: the one place where the parts of a spec become parts of a training run."""

from typing import assert_never

import torch
from torch import nn

from contract import choices
from contract.spec import RunSpec
from trainers.collectives import native
from trainers.collectives.layout import hosts_of
from trainers.collectives.runner import Allreduce, follow
from trainers.data.digits import digits
from trainers.data.split import Split
from trainers.data.synthetic import synthetic
from trainers.models.convnet import ConvNet
from trainers.models.resnet50 import ResNet50
from trainers.optimizers.lars import LARS
from trainers.optimizers.skip import param_groups
from trainers.plans import plan_of
from trainers.rules.rule import Rule
from trainers.rules.sync import Sync
from trainers.schedules.constant import constant
from trainers.schedules.polynomial import polynomial
from trainers.schedules.schedule import Schedule
from trainers.schedules.warmup import warmup


def data(choice: choices.Data, seed: int) -> tuple[Split, Split]:
    """The training and the held-out split."""
    match choice:
        case choices.Digits():
            return digits()
        case choices.Synthetic():
            return synthetic(
                choice.shape,
                choice.classes,
                train_samples=choice.train_samples,
                heldout_samples=choice.heldout_samples,
                seed=seed,
            )
        case _:
            assert_never(choice)


def model(run: RunSpec) -> nn.Module:
    """The net for the run's images, with the same weights on every rank."""
    channels, classes = run.data.shape[0], run.data.classes
    torch.manual_seed(run.seed)
    match run.model:
        case choices.ConvNet(width=width):
            return ConvNet(channels, classes, width=width)
        case choices.ResNet50():
            return ResNet50(channels, classes)
        case _:
            assert_never(run.model)


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


def schedule(run: RunSpec) -> Schedule:
    """The rate as a function of the steps taken."""
    choice = run.schedule
    match choice:
        case choices.Constant():
            after = constant(choice.rate)
        case choices.Polynomial():
            after = polynomial(choice.rate, power=choice.power, steps=run.steps)
        case _:
            assert_never(choice)
    steps = choice.warmup_epochs * run.steps_per_epoch
    return warmup(after, start_rate=choice.start_rate, rate=choice.rate, steps=steps)


def allreduce(choice: choices.Collective, world: int, *, nodes: int = 1) -> Allreduce:
    """The sum over all ranks, which are numbered node by node."""
    if isinstance(choice, choices.Native):
        return native.allreduce
    plan = plan_of(choice, hosts_of(world, nodes))
    return follow(plan, chunks=plan.chunks)


def rule(run: RunSpec, model: nn.Module, optimizer: torch.optim.Optimizer, *, allreduce: Allreduce) -> Rule:
    """How the replicas agree."""
    match run.rule:
        case choices.Sync():
            return Sync(model.parameters(), optimizer, allreduce=allreduce, world=run.resources.world)
        case _:
            assert_never(run.rule)
