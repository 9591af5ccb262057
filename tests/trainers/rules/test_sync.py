"""Synchronous SGD on four ranks equals SGD on the whole batch."""

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.plans import ring, torus
from trainers.collectives.runners import native
from trainers.collectives.runners.allreduce import Allreduce, make_allreduce
from trainers.rules.flat_vector import PackedGradients
from trainers.rules.sync import Sync

WORLD, BATCH, STEPS = 4, 24, 5


def train(rank: int, world: int, allreduce: Allreduce) -> tuple[list[float], list[Tensor]]:
    """Train without batch normalization, whose statistics differ between ranks; return losses and weights."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    rule = Sync(model.parameters(), optimizer, allreduce=allreduce, world=world)
    data, share, losses = torch.Generator().manual_seed(1), BATCH // world, []
    for _ in range(STEPS):
        x_BCHW = torch.randn(BATCH, 1, 8, 8, generator=data)[rank * share : (rank + 1) * share]
        y_B = torch.randint(10, (BATCH,), generator=data)[rank * share : (rank + 1) * share]
        loss = cross_entropy(model(x_BCHW), y_B)
        loss.backward()  # type: ignore[no-untyped-call]
        losses.append(rule.step(loss).item())
    return losses, [p.detach() for p in model.parameters()]


def train_with_each() -> dict[str, tuple[list[float], list[Tensor]]]:
    ranks = range(WORLD)
    collectives = {
        "native": native.allreduce,
        "ring": make_allreduce(ring.allreduce(ranks, ranks), chunks=WORLD),
        "torus": make_allreduce(torus.allreduce(ranks, ranks, rows=2), chunks=WORLD),
    }
    return {name: train(dist.get_rank(), WORLD, allreduce) for name, allreduce in collectives.items()}


def alone(x_N: Tensor) -> None:
    """Do nothing: the sum over a world of one."""


@pytest.mark.ring("all")
def test_four_ranks_equal_one_process_on_the_whole_batch() -> None:
    expected_losses, expected = train(0, 1, alone)
    for of_rank in on_ranks(WORLD, train_with_each):
        for losses, flatten_weights in of_rank.values():
            assert losses == pytest.approx(expected_losses, rel=1e-5)
            torch.testing.assert_close(flatten_weights, expected)


def average_with_an_unused_and_a_frozen_layer() -> tuple[list[Tensor], bool]:
    model = nn.ModuleList([nn.Linear(2, 1), nn.Linear(2, 1), nn.Linear(2, 1).requires_grad_(False)])
    for p in model.parameters():
        nn.init.ones_(p)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, weight_decay=0.5)
    rule = Sync(model.parameters(), optimizer, allreduce=native.allreduce, world=2)
    loss = model[dist.get_rank()](torch.ones(1, 2)).sum()  # every rank uses a different layer
    rule.mark_last_pass()
    loss.backward()
    rule.step(loss.detach())
    return [p.detach() for p in model.parameters()], all(p.grad is None for p in model.parameters())


@pytest.mark.ring("all")
def test_an_unused_layer_counts_as_zero_and_a_frozen_layer_does_not_change() -> None:
    for flatten_weights, is_clear in on_ranks(2, average_with_an_unused_and_a_frozen_layer):
        # 1 - (1/2 of a gradient of 1, and a decay of 1/2)
        assert [w.unique().tolist() for w in flatten_weights] == [[0.0]] * 4 + [[1.0]] * 2
        assert is_clear


def test_gradients_keep_their_strides_in_the_flat_vector() -> None:
    layer = nn.Conv2d(2, 3, kernel_size=3).to(memory_format=torch.channels_last)
    layer(torch.ones(1, 2, 4, 4)).sum().backward()
    expected = [p.grad.clone() for p in layer.parameters() if p.grad is not None]
    packed = PackedGradients(layer.parameters())
    assert packed.gather(0.5).shape == (57,)
    for p, grad in zip(layer.parameters(), expected, strict=True):
        assert p.grad is not None
        assert p.grad.stride() == p.stride()
        torch.testing.assert_close(p.grad, grad / 2)
