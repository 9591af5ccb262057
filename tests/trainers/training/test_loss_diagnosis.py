"""A loss that is not finite ends a run with a message about the step, the rate, the layer and the norms."""

import math
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import nn

from contract.folder.events import Failed, Points
from tests.testing.trainers.attempts import attempt
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.jobs import events, prepare
from trainers.training.loss_diagnosis import diagnose
from trainers.training.precision import Precision

PLAIN = Precision(torch.float32, torch.device("cpu"))


def diagnose_one() -> str:
    """Diagnose an overflow in the last layer in rank 1's second pass."""
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False))
    for layer in (net[0], net[2]):
        nn.init.constant_(layer.weight, 1e20)
    small, large = torch.full((3, 2), 1e-9), torch.full((3, 2), 1e6)
    numbers = torch.arange(3)
    passes = [(numbers, ((small,), small)), (numbers, ((large if dist.get_rank() == 1 else small,), small))]
    return diagnose(net, passes, precision=PLAIN)


@pytest.mark.ring("all")
def test_every_rank_reports_the_first_layer_and_its_rank() -> None:
    first, second = on_ranks(2, diagnose_one)
    assert first == second
    assert first.startswith(
        "the first that is not finite is 2 (Linear) on rank 1; the largest layers: 0.weight |w| = 2e+20"
    )


def poisoned() -> tuple[str, str]:
    """Diagnose a batch of the samples 40 and 7: the second has an input, and then a target, that is not finite."""
    numbers, sound, bad = torch.tensor([40, 7]), torch.ones(2, 2), torch.tensor([[1.0, 1.0], [1.0, math.nan]])
    of_input = diagnose(nn.Linear(2, 2), [(numbers, ((bad,), torch.zeros(2)))], precision=PLAIN)
    return of_input, diagnose(nn.Linear(2, 2), [(numbers, ((sound,), bad[:, 1]))], precision=PLAIN)


def test_an_input_or_target_that_is_not_finite_is_reported_with_its_sample() -> None:
    ((of_input, of_target),) = on_ranks(1, poisoned)
    assert "the first that is not finite is the input itself, of sample 7 of the training set, on rank 0" in of_input
    assert "the first that is not finite is the target itself, of sample 7 of the training set, on rank 0" in of_target


def diagnose_float16() -> str:
    """Diagnose a second layer whose outputs of 1e5 are above float16's range and within float32's."""
    net = nn.Sequential(nn.Linear(2, 2, bias=False), nn.ReLU(), nn.Linear(2, 1, bias=False))
    nn.init.constant_(net[0].weight, 1.0)
    nn.init.constant_(net[2].weight, 500.0)
    passes = [(torch.arange(3), ((torch.full((3, 2), 100.0),), torch.zeros(3)))]
    return diagnose(net, passes, precision=Precision(torch.float16, torch.device("cpu")))


@pytest.mark.ring("all")
def test_an_overflow_of_float16_is_found_in_float16() -> None:
    (results,) = on_ranks(1, diagnose_float16)
    assert "the first that is not finite is 2 (Linear) on rank 0" in results


@pytest.mark.ring("all")
@pytest.mark.parametrize("ranks", [1, 2])
def test_a_diverged_run_reports_the_cause(ranks: int, tmp_path: Path) -> None:
    """A rate of 1e9 makes weights whose outputs exceed float32's range in the next step."""
    folder = prepare(
        tmp_path / "run",
        optimizer={"kind": "sgd"},
        schedule={"kind": "constant", "rate": 1e9},
        collective={"kind": "native"},
        resources={"kind": "local", "ranks_per_node": ranks},
    )
    assert attempt(folder, 1) == [1] * ranks
    *_, failed = events(folder)
    assert isinstance(failed, Failed)
    steps = [event.step for event in events(folder) if isinstance(event, Points)]
    assert f"at step {steps[-1]} the loss is " in failed.reason
    assert "with a learning rate of 1e+09; the first that is not finite is " in failed.reason
    assert "the largest layers: " in failed.reason
    assert "|w| = " in failed.reason
