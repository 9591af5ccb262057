"""Evaluation over ranks counts every held-out image once, and averages the ranks' batch norm statistics."""

from contextlib import closing

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from contract.metric_names import HELDOUT_ACCURACY, HELDOUT_LOSS
from tests.testing.trainers.forked_ranks import on_ranks
from trainers.collectives.runners.timeout import BackendCollectives
from trainers.data.loader import Loader
from trainers.data.split import TensorSplit
from trainers.tasks.classification import Classification
from trainers.training.evaluation import Evaluation, average_statistics
from trainers.training.precision import Precision

SAMPLES, RIGHT = 10, 7


class Marked(nn.Module):
    """A model whose answer is the value of an image's only pixel."""

    def forward(self, x_BCHW: Tensor) -> Tensor:
        return nn.functional.one_hot(x_BCHW.flatten().long(), 3).float()


def evaluate_marked() -> tuple[float, float]:
    y_N = torch.arange(SAMPLES) % 3
    shown_N = torch.where(torch.arange(SAMPLES) < RIGHT, y_N, (y_N + 1) % 3)
    heldout, cpu = TensorSplit(shown_N.view(-1, 1, 1, 1), y_N), torch.device("cpu")
    judged = Evaluation(heldout, Classification(), 2, Precision(torch.float32, cpu), cpu)(Marked())
    return judged[HELDOUT_LOSS], judged[HELDOUT_ACCURACY]


@pytest.mark.parametrize("world", [1, 3, 4])
def test_every_image_counts_once_if_the_world_does_not_divide_their_number(world: int) -> None:
    logits_K = torch.tensor([1.0, 0, 0])
    right, wrong = (-logits_K.log_softmax(0)[:2]).tolist()
    for loss, accuracy in on_ranks(world, evaluate_marked):
        assert accuracy == RIGHT / SAMPLES
        assert loss == pytest.approx((RIGHT * right + (SAMPLES - RIGHT) * wrong) / SAMPLES)


def evaluate_two_images(workers: int) -> float:
    heldout, cpu = TensorSplit(torch.tensor([0.0, 1.0]).view(-1, 1, 1, 1), torch.tensor([0, 2])), torch.device("cpu")
    with closing(Loader(workers)) as loader:
        evaluate = Evaluation(heldout, Classification(), 2, Precision(torch.float32, cpu), cpu, loader=loader)
        return evaluate(Marked())[HELDOUT_ACCURACY]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("workers", [0, 1])
def test_ranks_without_an_image_evaluate_too(workers: int) -> None:
    """Forces fewer held-out images than ranks: two ranks of four have none."""
    assert on_ranks(4, evaluate_two_images, workers) == [0.5] * 4


def average_over_ranks() -> tuple[list[float], list[float], int]:
    norm = nn.BatchNorm1d(2, momentum=1.0)
    norm(torch.tensor([[0.0, 0.0], [2.0, 4.0]]) * (dist.get_rank() + 1))
    average_statistics(norm, BackendCollectives())
    means_C, variances_C, batches = norm.buffers()
    return means_C.tolist(), variances_C.tolist(), int(batches)


def test_running_statistics_become_the_ranks_mean() -> None:
    # means (1, 2) and (2, 4); variances (2, 8) and (8, 32)
    assert on_ranks(2, average_over_ranks) == [([1.5, 3.0], [5.0, 20.0], 1)] * 2
