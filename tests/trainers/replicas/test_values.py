"""The values of a replica have names, leave out what differs on purpose, and show what is in an optimizer's state."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.runners.timeout import BackendCollectives
from trainers.replicas.difference import Difference, first_difference, list_ranks
from trainers.replicas.exchange import PAGE, Comparers, find_difference
from trainers.replicas.values import Value, Values, describe, values_of_replica


def a_net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), spectral_norm(nn.Linear(4, 2)))


def trained(make: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW) -> tuple[nn.Module, torch.optim.Optimizer]:
    net = a_net()
    optimizer = make(net.parameters(), lr=0.1)
    net(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return net, optimizer


def test_weights_flags_buffers_and_the_optimizers_state_have_names_and_statistics_are_left_out() -> None:
    values = values_of_replica(*trained(), others={"the loss scale": {"scale": 2.0}})
    assert {
        "the weights `0.weight`",
        "requires_grad of the weights `0.weight`",
        "the buffer `2.parametrizations.weight.0._u`",
        "the buffer `1.num_batches_tracked`",
        "the optimizer's `exp_avg` of `1.bias`",
        "`lr` of the optimizer's group 0",
        "the loss scale's scale",
    } < set(values)
    assert not [name for name in values if "running" in name]
    assert values["the weights `0.weight`"].shown == "float32 [4, 3]"
    assert values["`betas` of the optimizer's group 0"] == Value("(0.9, 0.999)")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda net, _: net[0].weight.data[1, 2].add_(1e-6), "the weights `0.weight`"),
        (lambda net, _: net[0].bias.requires_grad_(False), "requires_grad of the weights `0.bias`"),
        (lambda net, _: net[2].parametrizations.weight[0]._u.mul_(-1), "the buffer `2.parametrizations.weight.0._u`"),
        (
            lambda _, opt: opt.state[opt.param_groups[0]["params"][1]]["step"].add_(1),
            "the optimizer's `step` of `0.bias`",
        ),
        (lambda _, opt: opt.param_groups[0].update(lr=0.2), "`lr` of the optimizer's group 0"),
        (lambda _, opt: opt.param_groups[0].update(betas=(0.9, 0.99)), "`betas` of the optimizer's group 0"),
    ],
)
def test_a_change_of_a_value_is_noticed_by_its_name(
    change: Callable[[nn.Module, torch.optim.Optimizer], object], name: str
) -> None:
    before = values_of_replica(*trained())
    net, optimizer = trained()
    change(net, optimizer)
    changed = values_of_replica(net, optimizer)
    assert [one for one in before if before[one] != changed[one]] == [name]


def test_what_is_inside_lists_and_dictionaries_counts_and_an_unknown_object_has_its_type_alone() -> None:
    inside = {"history": [torch.ones(2), {"best": 3.0}], "table": np.arange(3), "note": "x" * 500, "own": object()}
    values = describe([("it", inside)])
    assert list(values) == ["it history 0", "it history 1 best", "it table", "it note", "it own"]
    assert values["it own"] == Value("a object")
    changed = describe([("it", {**inside, "note": "x" * 499 + "y"})])
    assert changed["it note"] != values["it note"]


def one(text: str) -> Value:
    return Value("float32 [2]", text)


@pytest.mark.parametrize(
    ("of_ranks", "expected"),
    [
        ([{"w": one("a")}, {"w": one("b")}, {"w": one("a")}], "ranks 0 and 2 have one value, rank 1 another"),
        ([{"w": one("a")}, {"w": one("b")}, {"w": one("c")}], "each rank has another value"),
        ([{"w": one("a")}, {}], "rank 0 has float32 [2], rank 1 has none"),
        ([{"w": Value("0.1")}, {"w": Value("0.2")}], "rank 0 has 0.1, rank 1 has 0.2"),
        ([{"w": Value("0.1"), "v": Value("1")}] * 2, "they have the same values in another order"),
    ],
)
def test_a_difference_names_the_ranks(of_ranks: list[Values], expected: str) -> None:
    found = first_difference(of_ranks, range(len(of_ranks)))
    assert found.describe("the replicas", "after step 4").endswith(f": {expected}")


def test_many_ranks_are_counted() -> None:
    assert list_ranks([3]) == "rank 3"
    assert list_ranks([0, 2, 5]) == "ranks 0, 2 and 5"
    assert list_ranks(range(64)) == "ranks 0, 1, 2, 3 and 60 more"


def compare_many(count: int, differing: int | None) -> Difference | None:
    rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
    values = {f"the weights `{'block.' * 40}{number}`": one("a") for number in range(count)}
    if rank == 1 and differing is not None:
        values |= {list(values)[differing]: one("b")}
    return find_difference(values, Comparers(range(world), BackendCollectives()))


@pytest.mark.parametrize("world", [2, 3])
def test_one_differing_tensor_of_thousands_is_found(world: int) -> None:
    count = 7 * PAGE + 3
    found = on_ranks(world, compare_many, count, count - 2)
    assert found == [found[0]] * world
    assert found[0].further == 0
    assert [ranks for _, ranks in found[0].variants] == [[rank for rank in range(world) if rank != 1], [1]]
    assert on_ranks(world, compare_many, 3, None) == [None] * world
