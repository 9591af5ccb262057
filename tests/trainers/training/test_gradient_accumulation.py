"""Micro-batches of any size add up to one large batch, on one rank and on several ranks."""

from functools import partial

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from contract.spec.batch_size import split_into_passes
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.runners import native
from trainers.losses import CrossEntropy
from trainers.rules.sync import Sync
from trainers.training.precision import Precision
from trainers.training.step import TrainingStep

BATCH, STEPS = 20, 4


def alone(x_N: Tensor) -> None:
    """Do nothing: the sum over a world of one."""


def train(world: int, micro_batch: int | None) -> tuple[list[float], list[Tensor], int]:
    """Train in float64, without batch normalization, which depends on the passes; count the messages."""
    messages = 0

    def allreduce(x_N: Tensor) -> None:
        nonlocal messages
        messages += 1
        (native.allreduce if world > 1 else alone)(x_N)

    rank, share = dist.get_rank() if world > 1 else 0, BATCH // world
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10)).double()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=0.01)
    rule = Sync(net.parameters(), optimizer, allreduce=allreduce, world=world)
    precision = Precision(torch.float32, torch.device("cpu"))
    step = TrainingStep(net, CrossEntropy(label_smoothing=0.1), rule, precision=precision)
    data, losses = torch.Generator().manual_seed(1), []
    for _ in range(STEPS):
        x_BCHW = torch.randn(BATCH, 1, 8, 8, generator=data, dtype=torch.float64)
        y_B = torch.randint(10, (BATCH,), generator=data)
        own = slice(rank * share, (rank + 1) * share)
        sizes = split_into_passes(share, micro_batch)
        parts = zip(x_BCHW[own].split(sizes), y_B[own].split(sizes), strict=True)
        losses.append(step([((x,), y) for x, y in parts], samples=share))
    return losses, [p.detach() for p in net.parameters()], messages


@pytest.mark.ring("all")
@pytest.mark.parametrize("micro_batch", [1, 3, 7, 10, 50])
def test_passes_on_one_rank_equal_one_large_batch(micro_batch: int) -> None:
    expected_losses, expected, _ = train(1, None)
    losses, flatten_weights, _ = train(1, micro_batch)
    assert losses == pytest.approx(expected_losses, rel=1e-12)
    torch.testing.assert_close(flatten_weights, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.ring("all")
def test_passes_on_four_ranks_equal_one_large_batch_with_one_message_per_step() -> None:
    expected_losses, expected, _ = train(1, None)
    for losses, flatten_weights, messages in on_ranks(4, partial(train, 4, 2)):
        assert losses == pytest.approx(expected_losses, rel=1e-12)
        torch.testing.assert_close(flatten_weights, expected, rtol=1e-12, atol=1e-14)
        assert messages == 1 + STEPS  # in the first, the ranks compare what they train
