"""Runs on meshes of processes have the losses of the dense run, also with several replicas, and after other meshes."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from contract.folder.events import Resumed
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from tests.testing.trainers.attempts import Signal, attempt, curve
from tests.testing.trainers.jobs import events

STEPS = 12
RUN: dict[str, Any] = {
    "model": {"kind": "gpt", "layers": 2, "width": 16, "heads": 4},
    "data": {"kind": "text", "context": 8, "train_samples": 64, "heldout_samples": 16},
    "optimizer": {"kind": "adamw", "no_weight_decay": "bias_and_norm"},
    "schedule": {"kind": "constant", "rate": 0.01},
    "batch": 16,
    "epochs": 3,
    "checkpoint": {"every_steps": 2},
}
DENSE: dict[str, Any] = {"tensor": None, "ranks": 1}
LINES = {"tensor": {"kind": "one_d", "ranks": 2}, "ranks": 4, "collective": {"kind": "ring"}}
SQUARE = {"tensor": {"kind": "two_d", "q": 2}, "ranks": 4}
CUBE = {"tensor": {"kind": "three_d", "q": 2}, "ranks": 8}


def spec(ranks: int, **choices: Any) -> RunSpec:
    return RunSpec.model_validate({**RUN, "resources": {"kind": "local", "ranks_per_node": ranks}, **choices})


@pytest.fixture(scope="module")
def dense(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, float | None]]:
    """Return the curves of the run on one rank."""
    folder = RunFolder(tmp_path_factory.mktemp("dense") / "run")
    folder.prepare(spec(**DENSE))
    assert attempt(folder, 1) == [0]
    return curves(folder)


def curves(folder: RunFolder) -> dict[str, dict[int, float | None]]:
    return {name: curve(folder, name) for name in ("loss", "heldout_loss", "heldout_accuracy")}


@pytest.mark.ring("all")
@pytest.mark.parametrize("mesh", [LINES | {"micro_batch": 4}, SQUARE, CUBE], ids=["two-lines", "square", "cube"])
def test_a_mesh_has_the_losses_of_one_rank(
    mesh: dict[str, Any], dense: dict[str, dict[int, float | None]], tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.prepare(spec(**mesh))
    assert attempt(folder, 1) == [0] * mesh["ranks"]
    found = curves(folder)
    assert list(found["loss"]) == list(range(1, STEPS + 1))
    for name, values in dense.items():
        assert found[name] == pytest.approx(values, rel=1e-4, abs=1e-6)
    communication = curve(folder, "communication_s")
    assert all(seconds and seconds > 0 for seconds in communication.values())


@pytest.mark.ring("all")
def test_a_checkpoint_of_a_mesh_goes_on_on_every_other_mesh(
    dense: dict[str, dict[int, float | None]], tmp_path: Path
) -> None:
    """SIGKILL to a rank after steps 3, 5, 7 and 9: a cube, then a square, one rank, two lines, and a cube again."""
    folder = RunFolder(tmp_path / "run")
    for number, mesh in enumerate([CUBE, SQUARE, DENSE, LINES, CUBE], start=1):
        folder.prepare(spec(**mesh))
        blow = Signal(signal.SIGKILL, after=2 * number + 1) if number < 5 else None
        codes = attempt(folder, number, blow=blow)
        assert codes[0] == (-signal.SIGKILL if blow else 0)
    assert curve_of_last(folder) == pytest.approx(dense["loss"], rel=1e-4)
    resumed = [event for event in events(folder) if isinstance(event, Resumed)]
    assert [event.step for event in resumed] == [2, 4, 6, 8]
    assert resumed[1].notes == ["saved by 4 ranks, goes on with 1: their random generators begin anew"]


def curve_of_last(folder: RunFolder) -> dict[int, float]:
    """Return the last reported loss of each step."""
    results = [json.loads(line) for line in folder.events.read_text().splitlines()]
    return {line["step"]: line["values"]["loss"] for line in results if "loss" in line.get("values", {})}
