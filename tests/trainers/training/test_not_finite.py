"""What is not finite ends a run with its step and its name, and no checkpoint holds it."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from contract.folder.events import Failed, Saved
from contract.folder.run_folder import RunFolder
from tests.testing.trainers.attempts import attempt, curve
from tests.testing.trainers.forked_ranks import on_ranks
from tests.testing.trainers.jobs import events, prepare
from trainers.checkpoints.checkpoint_directory import CheckpointDirectory
from trainers.data.split import TensorSplit
from trainers.optimizers.clip import clip
from trainers.optimizers.gradient_check import GradientCheck, GradientsNotFinite
from trainers.own_metrics import OwnMetrics
from trainers.tasks import Classification
from trainers.training.evaluation import Evaluation
from trainers.training.evaluation_diagnosis import OutputNotFinite
from trainers.training.precision import LossScale, Precision

HERE = "tests.testing.trainers.broken_parts"
STEPS = 8  # two epochs of four


def own(name: str, **options: Any) -> dict[str, Any]:
    return {"kind": "import", "function": f"{HERE}:{name}", "options": options}


def run_of(path: Path, *, at: int, ranks: int, data: dict[str, Any] | None = None, **choices: Any) -> RunFolder:
    """Prepare a run whose gradient of `shift` is NaN at a step, and whose loss stays finite."""
    of_data = own("images", samples=96, heldout=10, **(data or {}))
    spec: dict[str, Any] = {
        "model": own("broken_net", at=at),
        "data": of_data | {"shape": [1, 8, 8], "classes": 4, "train_samples": 96, "heldout_samples": 10},
        "optimizer": {"kind": "sgd", "momentum": 0.9},
        "schedule": {"kind": "constant", "rate": 0.05},
        "batch": 24,
        "epochs": 2,
        "collective": {"kind": "native"},
        "resources": {"kind": "local", "ranks_per_node": ranks},
    }
    return prepare(path, **{**spec, **choices})


def failure_of(folder: RunFolder) -> str:
    """Run one attempt, which must fail on all ranks; return the reason."""
    statuses = attempt(folder, 1)
    assert set(statuses) == {1}
    *_, failed = events(folder)
    assert isinstance(failed, Failed)
    assert "Diverged: " in failed.reason
    return failed.reason


def complete(folder: RunFolder) -> list[str]:
    return CheckpointDirectory(folder.checkpoints, retained=9).list_complete()


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1, 3])
def test_a_nan_gradient_of_the_last_step_ends_the_run_before_the_update(ranks: int, tmp_path: Path) -> None:
    folder = run_of(tmp_path, at=STEPS, ranks=ranks, checkpoint={"at_end": True})
    reason = failure_of(folder)
    assert f"at step {STEPS}, with a learning rate of 0.05: the gradient of shift is not finite" in reason
    assert list(curve(folder, "heldout_loss")) == [4]
    assert complete(folder) == []


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1, 3])
def test_nan_weights_are_found_before_a_save_and_the_sound_checkpoint_stays(ranks: int, tmp_path: Path) -> None:
    folder = run_of(tmp_path, at=3, ranks=ranks, checkpoint={"every_steps": 2, "keep": 5}, epochs=4)
    assert "at step 4 the weights are not finite: shift; at step 2 all were finite" in failure_of(folder)
    assert complete(folder) == ["step-0000000002-attempt-1"]
    assert [event.step for event in events(folder) if isinstance(event, Saved)] == [2]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1])
def test_a_nan_gradient_of_a_step_that_is_saved_is_named_on_all_ranks(ranks: int, tmp_path: Path) -> None:
    folder = run_of(tmp_path, at=2, ranks=ranks, checkpoint={"every_steps": 2})
    assert "at step 2, with a learning rate of 0.05: the gradient of shift is not finite" in failure_of(folder)
    for failure in folder.read_rank_failures(1, range(ranks)):
        assert "the gradient of shift" in failure.reason


def test_nan_weights_are_found_before_the_evaluation_that_ends_an_epoch(tmp_path: Path) -> None:
    folder = run_of(tmp_path, at=3, ranks=1, ema_decay=0.5)
    assert "at step 4 the weights are not finite: shift and shift of the average" in failure_of(folder)
    assert curve(folder, "heldout_loss") == {}


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1])
def test_with_clipping_a_nan_gradient_ends_the_run_at_its_step(ranks: int, tmp_path: Path) -> None:
    folder = run_of(tmp_path, at=3, ranks=ranks, clip_norm=1.0)
    assert "at step 3, with a learning rate of 0.05: the gradient of shift is not finite" in failure_of(folder)


RULES: dict[str, dict[str, Any]] = {
    "sync2": {"kind": "easgd", "variant": "sync2", "rho": 0.1, "period": 1},
    "original": {"kind": "easgd", "variant": "original", "rho": 0.1, "period": 1},
    "async_sgd": {"kind": "async_sgd"},
}


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("rule", RULES)
def test_a_center_or_a_replica_that_is_not_finite_is_not_the_result(rule: str, tmp_path: Path) -> None:
    optimizer = {"kind": "sgd", "momentum": 0.0 if rule == "async_sgd" else 0.9}
    folder = run_of(tmp_path, at=6, ranks=2, rule=RULES[rule], optimizer=optimizer)
    statuses = attempt(folder, 1)
    assert statuses[0] == 1
    *_, failed = events(folder)
    assert isinstance(failed, Failed)
    assert f"at step {STEPS} the weights are not finite: shift" in failed.reason


def test_a_replica_that_is_not_finite_is_not_saved(tmp_path: Path) -> None:
    folder = run_of(tmp_path, at=3, ranks=2, rule=RULES["sync2"], checkpoint={"every_steps": 2, "keep": 5})
    assert "at step 4 the weights are not finite: shift; at step 2 all were finite" in failure_of(folder)
    assert complete(folder) == ["step-0000000002-attempt-1"]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1, 3])
def test_a_held_out_sample_that_is_not_finite_is_named(ranks: int, tmp_path: Path) -> None:
    reason = failure_of(run_of(tmp_path, at=0, ranks=ranks, data={"heldout_nan_at": 7}))
    assert "at the evaluation after step 4 the held-out loss is nan for sample 7 of the held-out set: " in reason
    assert "its output is nan, its input is nan" in reason


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1])
def test_a_training_sample_that_is_not_finite_is_named(ranks: int, tmp_path: Path) -> None:
    reason = failure_of(run_of(tmp_path, at=0, ranks=ranks, data={"nan_at": 11}))
    assert "the first that is not finite is the input itself, of sample 11 of the training set, on rank " in reason


def test_an_average_of_the_weights_is_named_at_the_evaluation(tmp_path: Path) -> None:
    reason = failure_of(run_of(tmp_path, at=0, ranks=1, data={"heldout_nan_at": 0}, ema_decay=0.5))
    assert "at the evaluation of the weights' average after step 4 the held-out loss is nan for sample 0" in reason


class Shown(nn.Module):
    """A net whose logits for sample i are row i of a table."""

    def __init__(self, table_NK: Tensor) -> None:
        super().__init__()
        self.table_NK = table_NK

    def forward(self, x_B1: Tensor) -> Tensor:
        return self.table_NK[x_B1.flatten().long()]


def evaluate_table(table_NK: Tensor, metrics: OwnMetrics | None = None, alone: bool = False, samples: int = 9) -> str:
    """Evaluate samples of class 0, in passes of two; return the error."""
    heldout = TensorSplit(torch.arange(samples).view(-1, 1), torch.zeros(samples, dtype=torch.int64))
    cpu = torch.device("cpu")
    evaluate = Evaluation(
        heldout, Classification(), 2, Precision(torch.float32, cpu), cpu, metrics=metrics or OwnMetrics()
    )
    try:
        evaluate(Shown(table_NK), alone=alone)
    except OutputNotFinite as error:
        return str(error)
    return ""


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 1, 3])
def test_the_first_output_that_is_not_finite_is_named_on_all_ranks(world: int) -> None:
    table_NK = torch.zeros(9, 3)
    table_NK[[5, 8], 1] = math.nan
    expected = "the held-out loss is nan for sample 5 of the held-out set: its output is nan, its input is finite"
    assert on_ranks(world, evaluate_table, table_NK) == [expected] * world
    assert on_ranks(1, evaluate_table, table_NK, None, True) == [expected]


def test_classes_excluded_by_minus_infinity_are_sound_and_an_excluded_target_is_named() -> None:
    table_NK = torch.zeros(9, 3)
    table_NK[:, 2] = -math.inf
    assert on_ranks(2, evaluate_table, table_NK) == ["", ""]
    table_NK[6, 0] = -math.inf
    (found,) = on_ranks(1, evaluate_table, table_NK)
    assert found == (
        "the held-out loss is inf for sample 6 of the held-out set: its output is infinite, its input is finite"
    )


def worst_of_sample(output_BK: Tensor, _: Tensor) -> float:
    return math.nan if bool((output_BK == 9).any()) else 1.0


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 1])
def test_a_metric_that_is_not_finite_is_named_though_the_outputs_are(world: int) -> None:
    table_NK = torch.zeros(9, 3)
    table_NK[3, 1] = 9
    metrics = OwnMetrics({"worst": worst_of_sample})
    expected = "the metric worst is nan for sample 3 of the held-out set: its output is finite, its input is finite"
    assert on_ranks(world, evaluate_table, table_NK, metrics) == [expected] * world


def spread_of_samples(output_BK: Tensor, _: Tensor) -> float:
    return float(output_BK[:, 0].std())


def test_the_measure_that_failed_is_searched_where_another_has_no_value_for_one_sample() -> None:
    table_NK = torch.zeros(10, 3)
    table_NK[3, 1] = math.nan
    metrics = OwnMetrics({"spread": spread_of_samples})
    expected = "the held-out loss is nan for sample 3 of the held-out set: its output is nan, its input is finite"
    assert on_ranks(1, evaluate_table, table_NK, metrics, False, 10) == [expected]


def hooked(scale: LossScale | None, *, norm: float | None = None) -> tuple[nn.Module, torch.optim.Optimizer]:
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    check, optimizer = GradientCheck(net.named_parameters()), torch.optim.SGD(net.parameters(), lr=1.0)
    if scale is not None:
        scale.attach(optimizer)
    check.attach(optimizer)
    check.is_due = True
    if norm is not None:
        clip(optimizer, norm, check)
    for p in net.parameters():
        p.grad = torch.ones_like(p)
    return net, optimizer


def test_a_step_that_the_loss_scale_skips_is_no_error() -> None:
    net, optimizer = hooked(LossScale(), norm=1.0)
    before = [p.clone() for p in net.parameters()]
    assert net[0].weight.grad is not None
    net[0].weight.grad[0, 0] = math.inf
    optimizer.step()
    assert all(torch.equal(p, old) for p, old in zip(net.parameters(), before, strict=True))


def test_up_to_three_gradients_are_named_and_the_weights_stay() -> None:
    net, optimizer = hooked(None)
    before = [p.clone() for p in net.parameters()]
    for p in net.parameters():
        p.grad = torch.full_like(p, math.nan)
    with pytest.raises(
        GradientsNotFinite, match=r"the gradient of 0.weight, 0.bias, 1.weight and 1 more is not finite"
    ):
        optimizer.step()
    assert all(torch.equal(p, old) for p, old in zip(net.parameters(), before, strict=True))


def test_gradients_whose_norm_exceeds_the_range_are_no_silent_step_of_zero() -> None:
    net, optimizer = hooked(None, norm=1.0)
    net[0].weight.grad = torch.full((2, 2), 1e30)
    with pytest.raises(GradientsNotFinite, match="the norm of the gradients is inf, because they are too large"):
        optimizer.step()
