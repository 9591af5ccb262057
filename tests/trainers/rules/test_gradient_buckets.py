"""Buckets of gradients are summed during backward, always with the same layers and in the same order."""

import os
import signal
from threading import Event

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.futures import Future
from torch.nn import Parameter

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.plans import ring
from trainers.collectives.runners import native
from trainers.collectives.runners.allreduce import make_allreduce
from trainers.collectives.runners.async_allreduce import Outcome
from trainers.collectives.wire.rank_lost import RankLost
from trainers.rules import gradient_buckets
from trainers.rules.flat_vector import PackedGradients
from trainers.rules.gradient_buckets import BucketReducer, divide_into_buckets
from trainers.rules.rule import EXTRA_VALUES
from trainers.rules.sync import Sync

LAYER = 32 * 32 + 32  # numbers
FLAGS = 6  # of the three layers: the ranks compare once which parameters they train
EXTRA = EXTRA_VALUES + FLAGS


def test_the_last_bucket_is_small_and_has_the_first_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gradient_buckets, "LAST_BYTES", 20)
    monkeypatch.setattr(gradient_buckets, "BUCKET_BYTES", 40)
    params = [Parameter(torch.zeros(n)) for n in (2, 3, 4, 5, 1, 20, 1)]
    assert [[p.numel() for p in part] for part in divide_into_buckets(params)] == [[1], [20], [4, 5, 1], [2, 3]]


def test_a_small_net_is_one_bucket() -> None:
    params = [Parameter(torch.zeros(n)) for n in (1000, 10, 1000)]
    assert divide_into_buckets(params) == [params]


def test_a_bucket_waits_for_the_parameters_that_the_pass_trains_and_for_no_frozen_one() -> None:
    """A net may train one part in the first pass of a step and another in the last."""
    first, second = Parameter(torch.ones(2)), Parameter(torch.ones(2))
    begun: list[Tensor] = []

    def begin_sum(x_N: Tensor) -> Future[Outcome]:
        begun.append(x_N.clone())
        return Future()

    second.requires_grad_(False)
    reducer = BucketReducer([PackedGradients([first, second])], factor=1.0, begin_sum=begin_sum)
    first.requires_grad_(False)
    second.requires_grad_(True)
    reducer.watch()
    reducer.begin()
    assert not begun
    (3 * second).sum().backward()
    assert [x_N.tolist() for x_N in begun] == [[0, 0, 3, 3]]


def learn(packed: bool, overlap: bool) -> tuple[list[int], list[bool], Tensor]:
    """Take two steps; return the vectors' lengths, whether each sum preceded the end of backward, and the weights.

    Forces the first layer's backward to wait until a sum has begun, if one must begin before it.
    """
    gradient_buckets.LAST_BYTES = gradient_buckets.BUCKET_BYTES = LAYER * 8  # a bucket is a layer
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 32)).double()
    lengths, is_beside, begun, is_last = [], [], Event(), False
    over = True

    def allreduce(x_N: Tensor) -> None:
        if x_N.numel() != FLAGS:
            lengths.append(x_N.numel())
            is_beside.append(not over)
            begun.set()
        native.allreduce(x_N)

    def wait(*_: object) -> None:
        if overlap and is_last:
            assert begun.wait(30)

    model[1].register_full_backward_hook(wait)
    rule = Sync(
        model.parameters(),
        torch.optim.SGD(model.parameters(), lr=0.1),
        allreduce=allreduce,
        world=2,
        packed=packed,
        overlap=overlap,
    )
    data = torch.Generator().manual_seed(dist.get_rank())
    for _ in range(2):
        begun.clear()
        for is_last in (False, True):
            if is_last:
                rule.mark_last_pass()
            loss = model(torch.randn(4, 32, generator=data, dtype=torch.float64)).square().mean() / 2
            over = False
            loss.backward()
            over = True
        rule.step(loss.detach())
    return lengths, is_beside, torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("packed", "overlap", "lengths"),
    [
        (True, True, [LAYER, LAYER, LAYER + EXTRA]),
        (True, False, [3 * LAYER + EXTRA]),
        (False, True, [32, 1024, 32, 1024, 32, 1024 + EXTRA]),
        (False, False, [32, 1024, 32, 1024, 32, 1024 + EXTRA]),
    ],
)
def test_buckets_are_summed_in_order_during_backward(packed: bool, overlap: bool, lengths: list[int]) -> None:
    whole = on_ranks(2, learn, True, False)[0][2]
    for seen, is_beside, flatten_weights in on_ranks(2, learn, packed, overlap):
        assert seen == lengths * 2
        of_step = len(lengths)
        assert [is_beside[0], is_beside[of_step]] == [overlap, overlap]
        assert not is_beside[of_step - 1]
        torch.testing.assert_close(flatten_weights, whole)


def learn_of_a_part() -> tuple[list[int], Tensor]:
    """Leave one layer out of the last pass on rank 1, and one out of all passes: their buckets are summed last."""
    gradient_buckets.LAST_BYTES = gradient_buckets.BUCKET_BYTES = LAYER * 4
    torch.manual_seed(0)
    layers = [nn.Linear(32, 32) for _ in range(3)]
    model = nn.ModuleList(layers)
    for p in model.parameters():
        nn.init.ones_(p)
    lengths = []

    def allreduce(x_N: Tensor) -> None:
        lengths.append(x_N.numel())
        native.allreduce(x_N)

    rule = Sync(model.parameters(), torch.optim.SGD(model.parameters(), lr=1.0), allreduce=allreduce, world=2)
    x_BD = torch.ones(1, 32)
    model[2](x_BD).sum().backward()
    rule.mark_last_pass()
    model[2 if dist.get_rank() == 0 else 0](x_BD).sum().backward()
    rule.step(torch.zeros(1))
    return lengths, torch.stack([layer.bias.detach().unique() for layer in layers]).flatten()


@pytest.mark.ring("all")
def test_a_layer_without_a_last_pass_is_summed_with_its_earlier_gradients() -> None:
    for lengths, biases in on_ranks(2, learn_of_a_part):
        assert lengths == [FLAGS, LAYER, LAYER, LAYER + EXTRA]
        assert biases.tolist() == [0.5, 1.0, 1 - 3 / 2]


def lose_a_rank_in_backward() -> list[int]:
    """Send SIGKILL to rank 1 in its backward pass, between the sums of its first and its second bucket."""
    gradient_buckets.LAST_BYTES = gradient_buckets.BUCKET_BYTES = LAYER * 4
    model, wait_for_sum = nn.Sequential(*(nn.Linear(32, 32) for _ in range(3))), Event()
    through_ring = make_allreduce(ring.allreduce(range(3), range(3)), chunks=3, timeout_s=30)

    def allreduce(x_N: Tensor) -> None:
        through_ring(x_N)
        wait_for_sum.set()

    def kill(*_: object) -> None:
        assert wait_for_sum.wait(30)
        os.kill(os.getpid(), signal.SIGKILL)

    if dist.get_rank() == 1:
        model[2].register_full_backward_hook(kill)
    rule = Sync(model.parameters(), torch.optim.SGD(model.parameters(), lr=0.1), allreduce=allreduce, world=3)
    rule.mark_last_pass()
    model(torch.ones(1, 32, requires_grad=True)).sum().backward()
    try:
        rule.step(torch.zeros(1))
    except RankLost as error:
        return error.ranks
    return []


@pytest.mark.ring("all")
def test_a_rank_killed_in_backward_is_reported_by_the_other_ranks() -> None:
    assert on_ranks(3, lose_a_rank_in_backward, victim=1) == [[1], None, [1]]
