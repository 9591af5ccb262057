"""A parameter of which no rank has a gradient stays as one rank leaves it; one that some ranks use has their mean."""

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.small_training import WIDTH, train, weights_of
from trainers.collectives.plans import ring
from trainers.collectives.runners.allreduce import make_allreduce
from trainers.rules.sync import Sync
from trainers.training.precision import LossScale

OPTIMIZERS: list[dict[str, Any]] = [
    {"optimizer": {"kind": "sgd", "weight_decay": 0.01}},
    {"optimizer": {"kind": "sgd", "weight_decay": 0.01, "form": "rate_inside"}, "clip_norm": 0.5},
    {"optimizer": {"kind": "lars", "weight_decay": 0.01, "trust_coefficient": 0.1}},
    {"optimizer": {"kind": "lamb"}},
    {"optimizer": {"kind": "adam", "weight_decay": 0.01}},
    {"optimizer": {"kind": "adamw"}},
    {"optimizer": {"kind": "sgd"}, "precision": "float16"},  # with a loss scale
    {"optimizer": {"kind": "sgd"}, "preconditioner": {"kind": "kfac", "factor_every": 1, "inverse_every": 1}},
]
WAYS: list[dict[str, Any]] = [{}, {"overlap": False}, {"packed": False}, {"packed": False, "overlap": False}]
CASES = [*({**fields, "passes": 2} for fields in OPTIMIZERS), *({"rule": {"kind": "sync", **way}} for way in WAYS)]


class Branches(nn.Module):
    """Two layers in use, one that the first pass of every second step uses, and one that nothing uses."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(WIDTH, WIDTH)
        self.unused = nn.Linear(WIDTH, WIDTH)
        self.branch = nn.Linear(WIDTH, WIDTH)
        self.last = nn.Linear(WIDTH, 1)
        self.uses_branch = False
        self.double()
        nn.init.ones_(self.unused.weight)

    def forward(self, x_BD: Tensor) -> Tensor:
        h_BD = torch.tanh(self.first(x_BD))
        out_B1: Tensor = self.last(h_BD + self.branch(h_BD) if self.uses_branch else h_BD)
        return out_B1


def choose_branch(net: nn.Module, step: int, of_pass: int) -> None:
    assert isinstance(net, Branches)
    net.uses_branch = step % 2 == 0 and of_pass == 0


def train_each() -> list[dict[str, Tensor]]:
    found = []
    for case in CASES:
        net = Branches()
        train(net, steps=6, before_pass=choose_branch, **case)
        found.append(weights_of(net))
    return found


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 3])
def test_unused_layers_and_branches_end_as_on_one_rank(world: int) -> None:
    expected = train_each()
    assert all(bool((weights["unused.weight"] == 1).all()) for weights in expected)
    for of_rank in on_ranks(world, train_each):
        for case, here, alone in zip(CASES, of_rank, expected, strict=True):
            for name, w in alone.items():
                torch.testing.assert_close(here[name], w, rtol=1e-9, atol=1e-12, msg=lambda m, c=case: f"{c}: {m}")


def use_a_layer_of_ones_own() -> list[float]:
    """Give rank 0 alone a tiny gradient of the first layer, through float16 messages; no rank one of the second."""
    world = dist.get_world_size()
    layers = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1)])
    for p in layers.parameters():
        nn.init.ones_(p)
    through_ring = make_allreduce(ring.allreduce(range(world), range(world)), chunks=world, wire=torch.float16)
    optimizer = torch.optim.SGD(layers.parameters(), lr=1.0, weight_decay=0.5)
    rule = Sync(layers.parameters(), optimizer, allreduce=through_ring, world=world)
    rule.mark_last_pass()
    if dist.get_rank() == 0:
        (layers[0](torch.ones(1, 2)) * 1e-30).sum().backward()
    rule.step(torch.zeros(1))
    return [p.unique().item() for p in layers.parameters()]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 3])
def test_a_gradient_that_float16_rounds_to_zero_is_not_missing(world: int) -> None:
    assert on_ranks(world, use_a_layer_of_ones_own) == [[0.5, 0.5, 1.0, 1.0]] * world


def test_a_step_without_any_gradient_unscales_nothing() -> None:
    scale, layer = LossScale(), nn.Linear(2, 1)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1.0)
    scale.attach(optimizer)
    before = layer.weight.detach().clone()
    optimizer.step()
    assert torch.equal(layer.weight, before)
    assert scale.unscale([])


RULES: list[dict[str, Any]] = [
    {"kind": "async_sgd"},
    *({"kind": "easgd", "variant": variant} for variant in ("original", "async", "sync1", "sync2", "sync3")),
]


def train_by_each_rule() -> list[dict[str, Tensor]]:
    found = []
    for rule in RULES:
        net = Branches()
        net.branch.requires_grad_(False)
        train(net, steps=4, rule=rule, optimizer={"kind": "sgd", "weight_decay": 0.1})
        found.append(weights_of(net))
    return found


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 1, 3])
def test_under_rules_with_a_center_frozen_and_unused_layers_do_not_decay(world: int) -> None:
    start = weights_of(Branches())
    for of_rank in on_ranks(world, train_by_each_rule):
        for rule, weights in zip(RULES, of_rank, strict=True):
            for layer in ("unused", "branch"):
                assert torch.equal(weights[f"{layer}.weight"], start[f"{layer}.weight"]), rule
            assert not torch.equal(weights["first.weight"], start["first.weight"]), rule
