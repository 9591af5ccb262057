"""Nets with parameters of several types train on ranks as on one; every collective sums every type."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import Parameter

from contract.folder.run_folder import RunFolder
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.small_training import WIDTH, spec, train, weights_of
from trainers.build.collectives import build_allreduce
from trainers.progress.auto_choice_store import AutoChoiceStore
from trainers.progress.reporter import Reporter
from trainers.rules import gradient_buckets
from trainers.rules.gradient_buckets import divide_by_type, divide_into_buckets

WAYS: list[dict[str, Any]] = [{}, {"overlap": False}, {"packed": False}, {"packed": False, "overlap": False}]
OPTIMIZERS: list[dict[str, Any]] = [
    {"optimizer": {"kind": "sgd", "form": "rate_inside"}},
    {"optimizer": {"kind": "adam"}, "clip_norm": 0.5},
    {"optimizer": {"kind": "adamw"}, "precision": "float16"},  # with a loss scale
    {"optimizer": {"kind": "lars", "trust_coefficient": 0.1}},
    {"optimizer": {"kind": "lamb"}},
    {
        "optimizer": {"kind": "sgd"},
        "preconditioner": {"kind": "kfac", "factor_every": 1, "inverse_every": 1, "damping": 0.1},
    },
]
# the types of the first layer, whose bucket is the last, and of a middle layer; and the difference that rounding makes
Types = tuple[torch.dtype, torch.dtype, float]
WIDE: Types = (torch.float32, torch.float64, 1e-4)
NARROW: Types = (torch.bfloat16, torch.bfloat16, 0.05)
ALL: list[Types] = [WIDE, NARROW, (torch.float64, torch.float32, 1e-4), (torch.float32, torch.bfloat16, 0.05)]
CASES: list[tuple[dict[str, Any], Types]] = [
    *(({"rule": {"kind": "sync", **way}}, types) for way in WAYS for types in ALL),
    *((fields, types) for fields in OPTIMIZERS for types in (WIDE, NARROW)),
]


class Layers(nn.Module):
    """Three layers, of which the last is float32."""

    def __init__(self, first: torch.dtype, middle: torch.dtype) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH, dtype=dtype) for dtype in (first, middle, torch.float32))
        self.last = nn.Linear(WIDTH, 1)

    def forward(self, x_BD: Tensor) -> Tensor:
        for layer in self.layers:
            assert isinstance(layer, nn.Linear)
            x_BD = torch.tanh(layer(x_BD.to(layer.weight.dtype)))
        out_B1: Tensor = self.last(x_BD.float())
        return out_B1


def train_each() -> list[tuple[list[float], dict[str, Tensor]]]:
    found = []
    for fields, (first, middle, _) in CASES:
        net = Layers(first, middle)
        found.append((train(net, steps=3, **fields), weights_of(net)))
    return found


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 3])
def test_a_net_of_several_types_trains_on_ranks_as_on_one(world: int) -> None:
    expected = train_each()
    of_ranks = on_ranks(world, train_each)
    for of_rank in of_ranks:
        for case, (losses, weights), (alone_losses, alone) in zip(CASES, of_rank, expected, strict=True):
            limit = case[1][2]
            assert losses == pytest.approx(alone_losses, rel=limit), case
            for name, w in alone.items():
                assert weights[name].dtype == w.dtype
                torch.testing.assert_close(weights[name], w, rtol=limit, atol=limit, msg=lambda m, c=case: f"{c} {m}")
    for (_, weights), (_, other) in zip(of_ranks[0], of_ranks[-1], strict=True):
        assert all(torch.equal(w, other[name]) for name, w in weights.items()), "same bits on every rank"


def loss_of_float64() -> list[float]:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, 1)).double()
    return train(net, steps=3)


def test_the_loss_of_a_float64_net_keeps_its_digits() -> None:
    expected = loss_of_float64()
    for of_rank in on_ranks(2, loss_of_float64):
        assert of_rank == pytest.approx(expected, rel=1e-14)


def test_a_bucket_has_one_type_and_its_place_is_that_of_its_first_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient_buckets, "LAST_BYTES", 8)
    monkeypatch.setattr(gradient_buckets, "BUCKET_BYTES", 16)
    types = [torch.float32, torch.bfloat16, torch.float32, torch.bfloat16, torch.float32, torch.bfloat16, torch.float64]
    params = [Parameter(torch.zeros(2, dtype=dtype)) for dtype in types]
    numbers = {p: number for number, p in enumerate(params)}
    buckets = [[numbers[p] for p in bucket] for bucket in divide_into_buckets(params)]
    assert buckets == [[6], [5], [2, 4], [1, 3], [0]]
    assert [[numbers[p] for p in bucket] for bucket in divide_by_type(params)] == [[6], [1, 3, 5], [0, 2, 4]]


COLLECTIVES: list[dict[str, Any]] = [
    {"kind": "native"},
    *({"kind": "colors", "k": 2, "wire": wire} for wire in (None, "float16", "bfloat16")),
    *(
        {"kind": kind, "wire": wire}
        for kind in ("ring", "torus", "tree", "hierarchical", "halving_doubling", "server", "auto")
        for wire in (None, "float16", "bfloat16")
    ),
]


def sum_each(path: str) -> dict[str, list[list[float]]]:
    """Return for each collective the sums of a vector of each type, in which each rank has its own numbers."""
    rank, world = dist.get_rank(), dist.get_world_size()
    found = {}
    for number, choice in enumerate(COLLECTIVES):
        folder = RunFolder(Path(path) / str(number))
        folder.path.mkdir(parents=True, exist_ok=True)
        store: AutoChoiceStore = Reporter(folder, 1, rank=rank).choice_store
        allreduce = build_allreduce(spec(world, collective=choice, batch=12).collective, world, choice_store=store)
        sums = []
        for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
            x_N = (torch.arange(1, 12, dtype=torch.float64) * 0.25 * (rank + 1)).to(dtype)
            allreduce(x_N)
            assert x_N.dtype == dtype
            sums.append(x_N.tolist())
        found[f"{choice['kind']} {choice.get('wire')}"] = sums
    return found


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 3])
def test_every_collective_sums_vectors_of_every_type(world: int, tmp_path: Path) -> None:
    total = world * (world + 1) / 2
    expected = [0.25 * number * total for number in range(1, 12)]  # exact in every type
    for of_rank in on_ranks(world, sum_each, str(tmp_path)):
        for name, sums in of_rank.items():
            for found in sums:
                assert found == expected, name


CENTERS: list[dict[str, Any]] = [
    {"kind": "async_sgd"},
    *({"kind": "easgd", "variant": variant} for variant in ("original", "async", "sync1", "sync2", "sync3")),
]


def train_with_centers() -> list[list[float]]:
    found = []
    for rule in CENTERS:
        for dtype in (torch.float64, torch.bfloat16):
            torch.manual_seed(0)
            net = nn.Linear(WIDTH, 1).to(dtype)
            losses = train(net, steps=8, rule=rule, dtype=dtype, optimizer={"kind": "sgd", "momentum": 0.0})
            assert net.weight.dtype == dtype
            found.append(losses)
    return found


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 3])
def test_rules_with_a_center_train_nets_of_one_type_other_than_float32(world: int) -> None:
    for of_rank in on_ranks(world, train_with_centers):
        for losses in of_rank:
            assert losses[-1] < losses[0]
