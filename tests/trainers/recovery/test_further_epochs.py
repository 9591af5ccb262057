"""More epochs of a run that is done, and runs that start from another run's weights."""

from pathlib import Path
from typing import Any

import pytest

from contract.folder.events import Failed, Finished, Resumed
from contract.folder.run_folder import RunFolder
from contract.folder.stored_checkpoints import newest_checkpoint
from contract.spec.checks.extension import check_extension
from contract.spec.run import RunSpec
from tests.testing.trainers.attempts import attempt, curve
from tests.testing.trainers.jobs import events, prepare

OPEN_END: dict[str, Any] = {
    "optimizer": {"kind": "sgd", "momentum": 0.9},
    "schedule": {"kind": "step", "rate": 0.05, "milestones": [1.0], "warmup_epochs": 0.5},
    "collective": {"kind": "ring"},
    "resources": {"kind": "local", "ranks_per_node": 2},
    "checkpoint": {"every_minutes": None, "at_end": True},
}
AVERAGED = {"ema_decay": 0.8}


def weights(folder: RunFolder, **change: object) -> dict[str, Any]:
    """Return the initial weights of a spec, as the API resolves them."""
    found = newest_checkpoint(folder.path)
    assert found is not None
    return {"run": 1, "folder": str(folder.path), "checkpoint": found.name, **change}


@pytest.mark.ring("all")
def test_a_run_that_goes_on_equals_a_run_of_that_length_bit_for_bit(tmp_path: Path) -> None:
    whole = prepare(tmp_path / "whole", **OPEN_END, epochs=4)
    assert attempt(whole, 1) == [0, 0]
    extended = prepare(tmp_path / "extended", **OPEN_END, epochs=2)
    assert attempt(extended, 1) == [0, 0]
    longer = RunSpec.model_validate({**extended.read_spec().model_dump(mode="json"), "epochs": 4})
    assert list(check_extension(extended.read_spec(), 4)) == []
    extended.prepare(longer, 2)
    assert attempt(extended, 2) == [0, 0]
    (resumed,) = [event for event in events(extended) if isinstance(event, Resumed)]
    assert (resumed.step, resumed.lost_steps) == (longer.steps // 2, 0)
    for name in ("loss", "learning_rate", "heldout_accuracy", "heldout_loss"):
        assert curve(extended, name) == curve(whole, name)
    assert list(curve(whole)) == list(range(1, longer.steps + 1))


@pytest.mark.ring("all")
def test_a_schedule_that_depends_on_the_total_is_not_extended(tmp_path: Path) -> None:
    """Forces the fault: somebody writes more epochs into the spec of a run whose rates depend on their number."""
    folder = prepare(tmp_path / "run", **{**OPEN_END, "schedule": {"kind": "cosine", "rate": 0.05}}, epochs=1)
    assert attempt(folder, 1) == [0, 0]
    longer = RunSpec.model_validate({**folder.read_spec().model_dump(mode="json"), "epochs": 2})
    assert [issue.path for issue in check_extension(folder.read_spec(), 2)] == ["schedule"]
    folder.prepare(longer, 2)
    assert attempt(folder, 2) != [0, 0]
    (failure,) = [event for event in events(folder) if isinstance(event, Failed)]
    assert "epochs is 1 there and 2 here" in failure.reason


@pytest.mark.ring("all")
@pytest.mark.parametrize("averaging", [{}, AVERAGED], ids=["weights", "average"])
def test_the_weights_of_another_run_are_evaluated_without_a_step(averaging: dict[str, Any], tmp_path: Path) -> None:
    source = prepare(tmp_path / "source", **OPEN_END, **averaging)
    assert attempt(source, 1) == [0, 0]
    folder = prepare(tmp_path / "run", **OPEN_END, evaluate_only=True, initial_weights=weights(source), seed=5)
    assert attempt(folder, 1) == [0, 0]
    last = max(curve(source, "heldout_loss"))
    assert curve(folder, "heldout_loss") == {0: curve(source, "heldout_loss")[last]}
    assert curve(folder) == {}
    finished = events(folder)[-1]
    assert isinstance(finished, Finished)
    assert finished.step == folder.read_spec().steps == 0


@pytest.mark.ring("all")
def test_training_starts_from_the_weights_of_another_run(tmp_path: Path) -> None:
    source = prepare(tmp_path / "source", **OPEN_END)
    assert attempt(source, 1) == [0, 0]
    slow = {**OPEN_END, "schedule": {"kind": "constant", "rate": 1e-6}, "epochs": 1}
    folder = prepare(tmp_path / "run", **slow, initial_weights=weights(source))
    assert attempt(folder, 1) == [0, 0]
    (accuracy,) = curve(folder, "heldout_accuracy").values()
    last = max(curve(source, "heldout_accuracy"))
    assert accuracy == pytest.approx(curve(source, "heldout_accuracy")[last], abs=0.05)
    (first, *_) = curve(folder).values()
    (random, *_) = curve(source).values()
    assert first is not None
    assert random is not None
    assert first < random / 2


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("change", "message"),
    [({"checkpoint": "step-0000000001-attempt-1"}, "cannot be read"), ({}, "a checkpoint of another model")],
)
def test_weights_that_cannot_be_had_fail_the_run(change: dict[str, object], message: str, tmp_path: Path) -> None:
    """Forces the faults: the checkpoint is gone, and the net is another than the API was told."""
    source = prepare(tmp_path / "source", **OPEN_END)
    assert attempt(source, 1) == [0, 0]
    net = {"model": {"kind": "convnet", "width": 8}} if not change else {}
    folder = prepare(tmp_path / "run", **OPEN_END, **net, initial_weights=weights(source, **change))
    assert attempt(folder, 1) != [0, 0]
    failure = next(event for event in events(folder) if isinstance(event, Failed))
    assert message in failure.reason


def test_the_weights_of_replicas_that_trained_apart_start_equal_replicas(tmp_path: Path) -> None:
    """Each rank's own buffers follow its own replica; the new run has those of rank 0 on all ranks."""
    net = {"model": {"kind": "import", "function": "tests.testing.trainers.own_nets:spectral"}}
    rule = {"kind": "easgd", "variant": "sync2"}
    source = prepare(tmp_path / "source", **OPEN_END, **net, rule=rule, epochs=2)
    assert attempt(source, 1) == [0, 0]
    folder = prepare(tmp_path / "run", **OPEN_END, **net, epochs=2, initial_weights=weights(source))
    assert attempt(folder, 1) == [0, 0], [event for event in events(folder) if isinstance(event, Failed)]
