"""K-FAC on several ranks equals K-FAC on one, for every variant, and sends as many numbers as its formula states."""

from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.kfac_nets import batches, make_net, train
from trainers.collectives.plans import ring
from trainers.collectives.runners import native
from trainers.collectives.runners.allreduce import Allreduce, make_allreduce
from trainers.preconditioners import assignment
from trainers.preconditioners.gather_layout import lay_out
from trainers.preconditioners.group_gather import GroupGather
from trainers.preconditioners.options import KFACOptions, Method, Staged
from trainers.preconditioners.words import count_words, gradient_layout, inverse_layout, total_factor_words
from trainers.rules.rule import EXTRA_VALUES

WORLD, BATCH, STEPS = 4, 24, 6
FRACTIONS = {"comm_opt": 1.0, "hybrid": 0.5, "layer_wise": 0.0}
WAYS: dict[str, dict[str, Any]] = {
    "overlap": {},
    "no overlap": {"overlap": False},
    "layer by layer": {"packed": False},
    "passes": {"passes": 2},
}


def options(fraction: float = 1.0, **choices: Any) -> KFACOptions:
    every = {"factor_every": Staged(2), "inverse_every": Staged(3)}
    return KFACOptions(damping=Staged(0.02), kl_clip=0.01, fraction=fraction, **every, **choices)


def train_with_each() -> dict[str, list[Tensor]]:
    ranks, found = range(WORLD), {}
    collectives: dict[str, Allreduce] = {
        "native": native.allreduce,
        "ring": make_allreduce(ring.allreduce(ranks, ranks), chunks=WORLD),
    }
    for name, fraction in FRACTIONS.items():
        for method in ("eigen", "inverse"):
            for dtype in (torch.float64, torch.float32):
                for of_sum, allreduce in collectives.items() if name == "comm_opt" else [("ring", collectives["ring"])]:
                    net = make_net(dtype)
                    chosen = options(fraction, method=method)
                    train(net, batches(STEPS, BATCH, dtype), chosen, allreduce=allreduce)
                    found[f"{name} {method} {dtype} {of_sum}"] = [p.detach() for p in net.parameters()]
    for name, way in WAYS.items():
        net = make_net()
        train(net, batches(STEPS, BATCH), options(0.5), allreduce=collectives["ring"], **way)
        found[f"hybrid eigen torch.float64 {name}"] = [p.detach() for p in net.parameters()]
    return found


@pytest.mark.ring("all")
def test_every_variant_on_four_ranks_equals_one_rank() -> None:
    expected = {}
    for method in ("eigen", "inverse"):
        for dtype in (torch.float64, torch.float32):
            net = make_net(dtype)
            train(net, batches(STEPS, BATCH, dtype), options(method=method))
            expected[f"{method} {dtype}"] = [p.detach() for p in net.parameters()]
    of_ranks = on_ranks(WORLD, train_with_each)
    for name, weights in of_ranks[0].items():
        _, method, dtype, *_ = name.split()
        limit = 1e-10 if dtype == "torch.float64" else 1e-5
        for found, alone in zip(weights, expected[f"{method} {dtype}"], strict=True):
            assert float((found - alone).norm() / alone.norm()) <= limit, name
        for other in of_ranks[1:]:
            assert all(torch.equal(p, q) for p, q in zip(weights, other[name], strict=True)), f"{name}: same bits"


def count_sent(fraction: float, method: Method) -> list[tuple[int, int, int]]:
    """Return the numbers of each step that this rank sums for its factors, and sends in its column and in its row."""
    allreduce = make_allreduce(ring.allreduce(range(WORLD), range(WORLD)), chunks=WORLD)
    summed: list[int] = []

    def counting(x_N: Tensor) -> None:
        summed.append(x_N.numel())
        allreduce(x_N)

    net, data, per_step = make_net(), batches(STEPS, BATCH), []
    params = list(net.parameters())
    gradient_words = sum(p.numel() for p in params) + EXTRA_VALUES + len(params)
    chosen = KFACOptions(fraction=fraction, method=method, factor_every=Staged(2), inverse_every=Staged(3))
    kfac = None
    for count in range(1, STEPS + 1):  # the difference of trainings of n and n - 1 steps is the n-th step
        summed.clear()
        kfac = train(make_net(), data[:count], chosen, allreduce=counting, overlap=False)
        extra = sum(summed) - len(params) - count * gradient_words  # first, the ranks compare what they train
        per_step.append((extra, kfac.inverses.in_column.sent_words, kfac.inverses.in_row.sent_words))
    before = [(0, 0, 0), *per_step[:-1]]
    return [(a - x, b - y, c - z) for (a, b, c), (x, y, z) in zip(per_step, before, strict=True)]


@pytest.mark.ring("all")
@pytest.mark.parametrize("method", ["eigen", "inverse"])
def test_the_numbers_sent_equal_the_formula(method: str) -> None:
    net_blocks = train(make_net(), batches(1, BATCH), options()).blocks
    for fraction in FRACTIONS.values():
        chosen = assignment.assign(net_blocks, world=WORLD, fraction=fraction)
        words = count_words(net_blocks, chosen, method=method)
        layouts = (inverse_layout(net_blocks, chosen, method=method), gradient_layout(net_blocks, chosen))
        assert words.factors == total_factor_words(net_blocks)
        for rank, of_rank in enumerate(on_ranks(WORLD, count_sent, fraction, method)):
            inverses, gradients = (layout.sent_words(rank) for layout in layouts)
            assert of_rank == [
                (words.factors * (step % 2 == 0), inverses * (step % 3 == 0), gradients) for step in range(STEPS)
            ]
            assert inverses <= words.inverses
            if fraction == 1.0:
                unchanged = [step for number, step in enumerate(of_rank) if number % 2 and number % 3]
                assert unchanged == [(0, 0, 0)] * 2, "between two updates COMM-OPT sends nothing"


LONG = (1_300_001, 7, 0, 400_000)  # numbers of each rank: several segments, few, and none


def own_part(rank: int) -> Tensor:
    return torch.arange(LONG[rank], dtype=torch.float32) + rank


def gather_long_vectors() -> bool:
    rank, is_right = dist.get_rank(), True
    for groups in ([[0, 2], [1, 3]], [[0, 1, 2, 3]]):
        gather = GroupGather(lay_out(groups, LONG), rank=rank, timeout_s=60)
        found = gather.gather(own_part(rank))
        members = next(group for group in groups if rank in group)
        is_right &= sorted(found) == members
        is_right &= all(torch.equal(words[: LONG[of]], own_part(of)) for of, words in found.items())
    return is_right


@pytest.mark.ring("all")
def test_a_group_gathers_vectors_of_unequal_length_and_several_segments() -> None:
    """The runner cuts long vectors into segments, whose chunks are not the members' own parts."""
    assert on_ranks(WORLD, gather_long_vectors) == [True] * WORLD
    layout = lay_out([[0, 1, 2, 3]], LONG)
    assert max(map(layout.sent_words, range(WORLD))) <= 1.02 * sum(LONG)


def train_with_16_bits() -> dict[str, Tensor]:
    found = {}
    for name in ("float32", "bfloat16", "float16"):
        net = make_net(torch.float32)
        chosen = options(factor_dtype=getattr(torch, name))
        kfac = train(net, batches(STEPS, BATCH, torch.float32), chosen, allreduce=native.allreduce)
        found[name] = kfac.factors.average_F
    return found


@pytest.mark.ring("all")
def test_factors_in_16_bits_are_near_those_in_32_and_equal_on_all_ranks() -> None:
    of_ranks = on_ranks(2, train_with_16_bits)
    exact = of_ranks[0]["float32"]
    for name, limit in (("bfloat16", 2e-2), ("float16", 3e-3)):
        assert torch.equal(of_ranks[0][name], of_ranks[1][name])
        distance = float((of_ranks[0][name] - exact).norm() / exact.norm())
        assert 0 < distance < limit
