"""Gradients leave in buckets while backward goes on, always the same ones in the same order."""

import os
import signal
from threading import Event

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import Parameter

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.plans import ring
from trainers.collectives.runners import native
from trainers.collectives.runners.allreduce import follow
from trainers.collectives.wire.rank_lost import RankLost
from trainers.rules import gradient_buckets as buckets
from trainers.rules.gradient_buckets import divided
from trainers.rules.rule import RIDERS
from trainers.rules.sync import Sync

LAYER = 32 * 32 + 32  # numbers


def test_the_last_bucket_is_small_and_has_the_first_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "LAST_BYTES", 20)
    monkeypatch.setattr(buckets, "BUCKET_BYTES", 40)
    params = [Parameter(torch.zeros(n)) for n in (2, 3, 4, 5, 1, 20, 1)]
    assert [[p.numel() for p in part] for part in divided(params)] == [[1], [20], [4, 5, 1], [2, 3]]


def test_a_small_net_is_one_bucket() -> None:
    params = [Parameter(torch.zeros(n)) for n in (1000, 10, 1000)]
    assert divided(params) == [params]


def learn(packed: bool, overlap: bool) -> tuple[list[int], list[bool], Tensor]:
    """Two steps of two passes each; the vectors' lengths, whether each was summed before backward was over, weights.

    Forces the first layer's backward to wait until a sum has begun where one should have.
    """
    buckets.LAST_BYTES = buckets.BUCKET_BYTES = LAYER * 8  # a bucket is a layer
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 32)).double()
    lengths, is_beside, begun, is_last = [], [], Event(), False
    over = True

    def allreduce(x_N: Tensor) -> None:
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
                rule.last_pass()
            loss = model(torch.randn(4, 32, generator=data, dtype=torch.float64)).square().mean() / 2
            over = False
            loss.backward()
            over = True
        rule.step(loss.detach())
    return lengths, is_beside, torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.parametrize(
    ("packed", "overlap", "lengths"),
    [
        (True, True, [LAYER, LAYER, LAYER + RIDERS]),
        (True, False, [3 * LAYER + RIDERS]),
        (False, True, [32, 1024, 32, 1024, 32, 1024 + RIDERS]),
        (False, False, [32, 1024, 32, 1024, 32, 1024 + RIDERS]),
    ],
)
def test_buckets_leave_in_their_order_while_backward_goes_on(packed: bool, overlap: bool, lengths: list[int]) -> None:
    whole = on_ranks(2, learn, True, False)[0][2]
    for seen, is_beside, weights in on_ranks(2, learn, packed, overlap):
        assert seen == lengths * 2
        of_step = len(lengths)
        assert [is_beside[0], is_beside[of_step]] == [overlap, overlap]
        assert not is_beside[of_step - 1]
        torch.testing.assert_close(weights, whole)


def learn_of_a_part() -> tuple[list[int], Tensor]:
    """One layer is in no last pass on rank 1, one in none at all: their buckets leave after backward."""
    buckets.LAST_BYTES = buckets.BUCKET_BYTES = LAYER * 4
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
    rule.last_pass()
    model[2 if dist.get_rank() == 0 else 0](x_BD).sum().backward()
    rule.step(torch.zeros(1))
    return lengths, torch.stack([layer.bias.detach().unique() for layer in layers]).flatten()


def test_a_layer_that_the_last_pass_leaves_out_is_summed_with_what_it_has() -> None:
    for lengths, biases in on_ranks(2, learn_of_a_part):
        assert lengths == [LAYER, LAYER, LAYER + RIDERS]
        assert biases.tolist() == [0.5, 1.0, 1 - 3 / 2]


def lose_a_rank_in_backward() -> list[int]:
    """SIGKILL to rank 1 in its backward pass, when its first bucket has been summed and its second has not begun."""
    buckets.LAST_BYTES = buckets.BUCKET_BYTES = LAYER * 4
    model, summed = nn.Sequential(*(nn.Linear(32, 32) for _ in range(3))), Event()
    through_ring = follow(ring.allreduce(range(3), range(3)), chunks=3, timeout_s=30)

    def allreduce(x_N: Tensor) -> None:
        through_ring(x_N)
        summed.set()

    def fall(*_: object) -> None:
        assert summed.wait(30)
        os.kill(os.getpid(), signal.SIGKILL)

    if dist.get_rank() == 1:
        model[2].register_full_backward_hook(fall)
    rule = Sync(model.parameters(), torch.optim.SGD(model.parameters(), lr=0.1), allreduce=allreduce, world=3)
    rule.last_pass()
    model(torch.ones(1, 32, requires_grad=True)).sum().backward()
    try:
        rule.step(torch.zeros(1))
    except RankLost as error:
        return error.ranks
    return []


def test_a_rank_that_dies_in_backward_is_named_by_the_step_of_the_others() -> None:
    assert on_ranks(3, lose_a_rank_in_backward, victim=1) == [[1], None, [1]]
