"""16-bit passes with float32 weights, and the loss scale of float16."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from contract.spec.run import RunSpec
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.build.optimizers import build_loss_scale, build_optimizer
from trainers.build.rules import build_rule
from trainers.collectives.plans import ring
from trainers.collectives.runners import native
from trainers.collectives.runners.allreduce import make_allreduce
from trainers.optimizers.adam import make_adam
from trainers.optimizers.clip import clip
from trainers.optimizers.lamb import LAMB
from trainers.optimizers.lars import LARS
from trainers.rules.sync import Sync
from trainers.training.precision import (
    DOUBLING_STEPS,
    FIRST_SCALE,
    LEAST_SCALE,
    WIRE_SCALE,
    LossScale,
    Overflow,
    Precision,
)
from trainers.training.step import TrainingStep

CPU = torch.device("cpu")
X_BD, Y_BD = torch.randn(2, 8, 4, generator=torch.Generator().manual_seed(0)).unbind()


def distance(output: Tensor | tuple[Tensor, ...], target: Tensor) -> Tensor:
    assert isinstance(output, Tensor)
    return mse_loss(output.float(), target)


def alone(x_N: Tensor) -> None:
    """Do nothing: the sum over a world of one."""


def train(dtype: torch.dtype, *, steps: int = 3) -> tuple[Tensor, list[float]]:
    torch.manual_seed(0)
    net = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    scale = LossScale() if dtype is torch.float16 else None
    if scale:
        scale.attach(optimizer)
    rule = Sync(net.parameters(), optimizer, allreduce=alone, world=1)
    step = TrainingStep(net, distance, rule, precision=Precision(dtype, CPU), scale=scale)
    losses = [step([((X_BD,), Y_BD)], samples=8) for _ in range(steps)]
    return net.weight.detach(), losses


@pytest.mark.parametrize(("dtype", "digits"), [(torch.bfloat16, 2**-7), (torch.float16, 2**-9)])
def test_16_bit_passes_update_float32_weights_nearly_equally(dtype: torch.dtype, digits: float) -> None:
    (expected, expected_losses), (flatten_weights, losses) = train(torch.float32), train(dtype)
    assert flatten_weights.dtype is torch.float32
    torch.testing.assert_close(flatten_weights, expected, rtol=0, atol=4 * digits)
    assert losses == pytest.approx(expected_losses, rel=4 * digits)
    assert not torch.equal(flatten_weights, expected), "the passes were in float32"


def test_a_gradient_too_small_for_float16_is_preserved_by_the_scale() -> None:
    """2^-26 is less than half of float16's smallest number, 2^-24."""
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scale = LossScale()
    scale.attach(optimizer)
    weight.grad = (torch.tensor([2.0**-26]) * scale.scale).half().float()
    assert torch.tensor([2.0**-26]).half().item() == 0
    optimizer.step()
    assert 1 - weight.item() == pytest.approx(2.0**-26, abs=2.0**-24)  # float32 has 24 bits at 1
    assert weight.grad is not None
    assert weight.grad.item() == 2.0**-26


OPTIMIZERS: dict[str, Callable[[list[nn.Parameter]], torch.optim.Optimizer]] = {
    "sgd": lambda params: torch.optim.SGD(params, lr=0.5, momentum=0.9, weight_decay=0.1),
    "lars": lambda params: LARS(params, lr=0.5, weight_decay=0.1),
    "lamb": lambda params: LAMB(params, lr=0.5, weight_decay=0.1),
    "adamw": lambda params: make_adam(
        [{"params": params, "lr": 0.5}], decoupled=True, betas=(0.9, 0.99), epsilon=1e-8, weight_decay=0.1
    ),
}


def overflow_on_one_rank(kind: str) -> tuple[list[float], list[float], dict[str, float]]:
    """Take three steps, of which the second overflows on rank 1 only."""
    weight = nn.Parameter(torch.ones(2))
    optimizer = OPTIMIZERS[kind]([weight])
    scale = LossScale()
    scale.attach(optimizer)
    clip(optimizer, 100.0)  # receives unscaled gradients, and none in a skipped step
    rule = Sync([weight], optimizer, allreduce=native.allreduce, world=2)
    seen, scales = [], []
    for step in range(3):
        weight.grad = scale.scale * torch.tensor([1.0, math.inf if (step, dist.get_rank()) == (1, 1) else 1.0])
        rule.step(torch.tensor(1.0))
        seen.append(weight.tolist())
        scales.append(scale.scale)
    assert seen[0] == seen[1] != seen[2], "neither momentum nor decay moves a weight in a step that is left out"
    return [value for values in seen for value in values], scales, scale.state_dict()


@pytest.mark.ring("all")
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_all_ranks_skip_a_step_that_overflows_on_one_rank(kind: str) -> None:
    first, second = on_ranks(2, overflow_on_one_rank, kind)
    assert first == second
    assert first[1] == [FIRST_SCALE, FIRST_SCALE / 2, FIRST_SCALE / 2]
    assert first[2] == {"scale": FIRST_SCALE / 2, "clean_steps": 1}


def send_in_float16() -> list[float]:
    """Take three steps with float32 passes and float16 messages: tiny gradients, then an overflow on rank 1, then none.

    Return the weight and the scale after each step.
    """
    run = RunSpec.model_validate(
        {
            "optimizer": {"kind": "sgd", "momentum": 0.0},
            "schedule": {"kind": "constant", "rate": 1.0},
            "collective": {"kind": "ring", "wire": "float16"},
            "resources": {"kind": "local", "ranks_per_node": 2},
            "batch": 64,
            "epochs": 1,
        }
    )
    net = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(net.weight)
    scale = build_loss_scale(run)
    assert scale is not None
    optimizer = build_optimizer(run, net, scale)
    allreduce = make_allreduce(ring.allreduce(range(2), range(2)), chunks=2, wire=torch.float16)
    rule = build_rule(run, net, optimizer, allreduce=allreduce, scale=scale)
    seen = []
    for gradient in (2.0**-26, 1e5 if dist.get_rank() else 0.0, 0.0):
        for group in optimizer.param_groups:
            group["lr"] = 1.0
        net.weight.grad = torch.full((1, 1), gradient * scale.scale)
        rule.step(torch.tensor(1.0))
        seen += [net.weight.item(), scale.scale]
    return seen


@pytest.mark.ring("all")
def test_float16_messages_have_a_loss_scale_after_float32_passes() -> None:
    """2^-26 is less than half of float16's smallest number; 1e5 is above its largest."""
    first, second = on_ranks(2, send_in_float16)
    assert first == second
    assert first == [-(2.0**-26), WIRE_SCALE, -(2.0**-26), WIRE_SCALE / 2, -(2.0**-26), WIRE_SCALE / 2]


def test_the_scale_doubles_and_is_restored_from_its_state() -> None:
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=0.0)
    scale = LossScale()
    scale.load_state_dict({"scale": 8.0, "clean_steps": DOUBLING_STEPS - 2})
    scale.attach(optimizer)
    seen = []
    for _ in range(3):
        weight.grad = torch.ones(1)
        optimizer.step()
        seen.append(scale.scale)
    assert seen == [8.0, 16.0, 16.0]


def test_gradients_that_overflow_at_any_scale_end_the_run() -> None:
    weight = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    scale = LossScale(LEAST_SCALE)
    scale.attach(optimizer)
    weight.grad = torch.full((1,), math.nan)
    with pytest.raises(Overflow, match="not finite at any loss scale"):
        optimizer.step()
    assert weight.item() == 1
