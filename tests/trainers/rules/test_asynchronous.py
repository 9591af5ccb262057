"""Asynchronous SGD with a loss scale and with parameters that are exempt from weight decay."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from contract.folder.events import Points
from contract.spec.run import RunSpec
from tests.testing.trainers.attempts import attempt
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.jobs import events, losses, prepare
from trainers.build.optimizers import build_optimizer
from trainers.build.rules import build_rule
from trainers.collectives.runners.native import allreduce
from trainers.rules.rule import Rule
from trainers.training.precision import FIRST_SCALE, LossScale

RATE, DECAY, MOMENTUM = 0.5, 0.1, 0.9
RUN = {
    "optimizer": {
        "kind": "sgd",
        "momentum": MOMENTUM,
        "weight_decay": DECAY,
        "no_weight_decay": "bias_and_norm",
    },
    "schedule": {"kind": "constant", "rate": 0.1},
    "rule": {"kind": "async_sgd"},
    "batch": 64,
    "epochs": 1,
}


def built(scale: LossScale | None = None) -> tuple[nn.Linear, Rule]:
    """Return a layer whose weights and biases are all 1, and its rule as a spec chooses it."""
    net, run = nn.Linear(2, 2), RunSpec.model_validate(RUN)
    for p in net.parameters():
        nn.init.ones_(p)
    optimizer = build_optimizer(run, net, scale)
    rule = build_rule(run, net, optimizer, allreduce=allreduce, scale=scale)
    for group in optimizer.param_groups:
        group["lr"] = RATE
    return net, rule


def step(net: nn.Linear, rule: Rule, gradient: float) -> None:
    rule.begin_step()
    for p in net.parameters():
        p.grad = torch.full_like(p, gradient)
    rule.step(torch.tensor(0.0))


def step_without_gradient() -> tuple[Tensor, Tensor]:
    net, rule = built()
    step(net, rule, 0.0)
    return net.weight.detach(), net.bias.detach()


@pytest.mark.ring("all")
def test_an_exempt_bias_does_not_decay() -> None:
    [(weight, bias)] = on_ranks(1, step_without_gradient)
    torch.testing.assert_close(weight, torch.full((2, 2), 1 - RATE * DECAY))
    assert bias.tolist() == [1, 1]


def step_with_scale() -> list[tuple[float, float]]:
    """Return the bias and the scale after each step: of a gradient of 1, of one that overflows, and of none."""
    scale = LossScale()
    net, rule = built(scale)
    seen = []
    for gradient in (1.0, math.inf, 0.0):
        step(net, rule, scale.scale * gradient)
        seen.append((net.bias[0].item(), scale.scale))
    return seen


@pytest.mark.ring("all")
def test_gradients_are_unscaled_and_an_overflow_leaves_the_center_and_its_velocity() -> None:
    [seen] = on_ranks(1, step_with_scale)
    first = 1 - RATE
    assert seen[:2] == [(first, FIRST_SCALE), (first, FIRST_SCALE / 2)]
    assert seen[2][0] == pytest.approx(first - MOMENTUM * RATE)  # the velocity of the first step, decayed once


@pytest.mark.ring("all")
def test_a_float16_run_learns(tmp_path: Path) -> None:
    resources = {"kind": "local", "ranks_per_node": 2}
    learned = {**RUN, "optimizer": {"kind": "sgd", "momentum": 0.0}, "epochs": 6, "resources": resources}
    folder = prepare(tmp_path, **{**learned, "precision": "float16", "collective": {"kind": "native"}})
    assert attempt(folder, 1) == [0, 0]
    assert all(loss is not None for loss in losses(folder))
    *_, last = [e.values["heldout_accuracy"] for e in events(folder) if isinstance(e, Points) and "epoch" in e.values]
    assert last is not None
    assert last > 0.8
