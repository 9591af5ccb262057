"""Layers that the net freezes or unfreezes during a run are averaged from the step on at which they train."""

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.small_training import WIDTH, train, weights_of
from trainers.collectives.plans import ring, tree
from trainers.collectives.runners import native
from trainers.collectives.runners.allreduce import make_allreduce

WAYS: list[dict[str, Any]] = [{}, {"overlap": False}, {"packed": False}]


def net() -> nn.Sequential:
    """Return three layers, of which the first is frozen."""
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 1))
    layers[0].requires_grad_(False)
    return layers.double()


def change_layers(layers: nn.Module, step: int, of_pass: int) -> None:
    """Unfreeze the first layer at step 2, freeze the last for the second pass of step 3, and the middle from step 4."""
    assert isinstance(layers, nn.Sequential)
    layers[0].requires_grad_(step >= 2)
    layers[4].requires_grad_((step, of_pass) != (3, 1))
    layers[2].requires_grad_(step < 4)


def train_each() -> list[tuple[list[float], dict[str, Tensor]]]:
    found = []
    for way in WAYS:
        layers = net()
        losses = train(layers, steps=6, passes=2, before_pass=change_layers, rule={"kind": "sync", **way})
        found.append((losses, weights_of(layers)))
    return found


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 3])
def test_ranks_that_unfreeze_and_freeze_layers_train_as_one_rank(world: int) -> None:
    expected = train_each()
    for of_rank in on_ranks(world, train_each):
        for (losses, weights), (alone_losses, alone) in zip(of_rank, expected, strict=True):
            assert losses == pytest.approx(alone_losses, rel=1e-9)
            for name, w in alone.items():
                torch.testing.assert_close(weights[name], w, rtol=1e-9, atol=1e-12)


def test_a_layer_that_one_rank_unfreezes_has_no_gradient_of_earlier_steps() -> None:
    before: list[Tensor | None] = []

    def unfreeze(layers: nn.Module, step: int, of_pass: int) -> None:
        assert isinstance(layers, nn.Sequential)
        layers[0].requires_grad_()
        before.append(layers[0].weight.grad)

    train(net(), steps=4, before_pass=unfreeze)
    assert before == [None] * 4


def unfreeze_its_own(layers: nn.Module, step: int, of_pass: int) -> None:
    assert isinstance(layers, nn.Sequential)
    layers[0].requires_grad_(step >= 2 and dist.get_rank() == 0)
    layers[2].requires_grad_(step < 2 or dist.get_rank() == 0)


def unfreeze_on_rank_0(layers: nn.Module, step: int, of_pass: int) -> None:
    assert isinstance(layers, nn.Sequential)
    layers[0].requires_grad_(step >= 2 and dist.get_rank() == 0)


def train_apart(plan: str) -> list[str]:
    """Return the messages of two trainings in which the ranks train different layers from the third step on."""
    ranks, messages = range(dist.get_world_size()), []
    of_plan = ring.allreduce(ranks, ranks) if plan == "ring" else tree.plan([ranks])
    planned = make_allreduce(of_plan, chunks=len(ranks) if plan == "ring" else 1, timeout_s=20)
    for change, allreduce in ((unfreeze_its_own, native.allreduce), (unfreeze_on_rank_0, planned)):
        try:
            train(net(), steps=4, before_pass=change, allreduce=allreduce)
        except Exception as error:
            messages.append(str(error))
        else:
            messages.append("no error")
    return messages


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(("world", "plan"), [(2, "ring"), (3, "tree")])
def test_ranks_that_train_different_layers_end_with_an_error(world: int, plan: str) -> None:
    for apart, alone in on_ranks(world, train_apart, plan):
        assert apart.startswith(f"1 of {world} ranks train the parameter 0.weight in this step, and the others have")
        assert alone != "no error"


RULES: list[dict[str, Any]] = [
    {"kind": "async_sgd"},
    *({"kind": "easgd", "variant": variant} for variant in ("original", "sync1", "sync2", "sync3")),
]


def train_with_centers() -> list[list[bool]]:
    """Return for each rule whether the first layer had changed before each step."""
    return [changes_under(rule) for rule in RULES]


def changes_under(rule: dict[str, Any]) -> list[bool]:
    start, changed = weights_of(net())["0.weight"], list[bool]()

    def unfreeze(layers: nn.Module, step: int, of_pass: int) -> None:
        assert isinstance(layers, nn.Sequential)
        layers[0].requires_grad_(step >= 2)
        changed.append(not torch.equal(layers[0].weight, start))

    train(net(), steps=5, before_pass=unfreeze, rule=rule)
    return changed


def test_under_rules_with_a_center_a_layer_trains_once_it_is_unfrozen() -> None:
    for of_rank in on_ranks(2, train_with_centers):
        for changed in of_rank:
            assert changed[:2] == [False, False]
            assert changed[4]
