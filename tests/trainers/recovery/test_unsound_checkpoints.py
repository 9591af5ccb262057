"""Checkpoints of earlier versions that no run may go on from: they are not finite, or cannot be read back."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from contract.folder.events import Failed, Finished, Resumed
from contract.folder.run_folder import RunFolder
from tests.testing.trainers.attempts import attempt, curve
from tests.testing.trainers.jobs import events, prepare
from trainers.checkpoints.checkpoint_directory import SHARED, CheckpointDirectory, PartState, rank_part

SPEC: dict[str, Any] = {
    "model": {"kind": "import", "function": "tests.testing.trainers.broken_parts:plain_net"},
    "data": {"kind": "synthetic", "height": 8, "width": 8, "classes": 4, "train_samples": 48, "heldout_samples": 6},
    "optimizer": {"kind": "sgd", "momentum": 0.9},
    "schedule": {"kind": "constant", "rate": 0.01},
    "batch": 12,
    "epochs": 2,
    "collective": {"kind": "native"},
    "checkpoint": {"every_steps": 3, "keep": 5},
}
SAVED = ["step-0000000006-attempt-1", "step-0000000003-attempt-1"]


def first_attempt(path: Path, ranks: int, **choices: Any) -> RunFolder:
    """Carry out a run that leaves checkpoints at the steps 3 and 6."""
    folder = prepare(path, **{**SPEC, "resources": {"kind": "local", "ranks_per_node": ranks}, **choices})
    assert attempt(folder, 1) == [0] * ranks
    return folder


def change(folder: RunFolder, name: str, part: str, by: Callable[[PartState], None]) -> None:
    """Change a part of a checkpoint, and its checksum."""
    directory = CheckpointDirectory(folder.checkpoints, retained=5)
    manifest = directory.read_manifest(name)
    state = directory.read_part(name, manifest, part)
    by(state)
    checksum = directory.write_part(manifest.step, manifest.attempt, part, state)
    directory.write_manifest(replace(manifest, parts={**manifest.parts, part: checksum}))


def break_weight(shared: PartState) -> None:
    shared["parameters"][next(iter(shared["parameters"]))][0] = math.nan


def break_momentum(shared: PartState) -> None:
    shared["optimizer"]["state"][0]["momentum_buffer"][0] = math.nan


def break_statistics(own: PartState) -> None:
    own["buffers"][next(name for name in own["buffers"] if name.endswith("running_var"))][0] = math.inf


def resumed(folder: RunFolder) -> list[tuple[int, list[str]]]:
    return [(event.step, event.notes) for event in events(folder) if isinstance(event, Resumed)]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1, 3])
def test_a_checkpoint_with_nan_weights_is_passed_over_for_the_sound_one_before_it(ranks: int, tmp_path: Path) -> None:
    folder = first_attempt(tmp_path, ranks)
    change(folder, SAVED[0], SHARED, break_weight)
    before = curve(folder)
    assert attempt(folder, 2) == [0] * ranks
    ((step, notes),) = resumed(folder)
    assert step == 3
    assert notes == [f"passed over a damaged checkpoint: {SAVED[0]}: the weights are not finite: 1.weight"]
    assert curve(folder) == before, "the repeated steps have the same losses"
    assert isinstance(events(folder)[-1], Finished)


@pytest.mark.parametrize(
    ("part", "by", "note"),
    [
        (SHARED, break_momentum, "the optimizer's state is not finite: momentum_buffer of "),
        (rank_part(1), break_statistics, "the statistics of normalization are not finite: "),
    ],
)
def test_a_checkpoint_with_a_state_that_breaks_the_weights_is_passed_over_on_all_ranks(
    part: str, by: Callable[[PartState], None], note: str, tmp_path: Path
) -> None:
    folder = first_attempt(tmp_path, 2)
    change(folder, SAVED[0], part, by)
    assert attempt(folder, 2) == [0, 0]
    ((step, (found,)),) = resumed(folder)
    assert step == 3
    assert note in found


def test_without_a_sound_checkpoint_a_run_begins_anew_and_says_so(tmp_path: Path) -> None:
    folder = first_attempt(tmp_path, 2)
    for name in SAVED:
        change(folder, name, SHARED, break_weight)
    assert attempt(folder, 2) == [0, 0]
    ((step, notes),) = resumed(folder)
    assert step == 0
    assert [note.split(": ")[1] for note in notes] == SAVED


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1])
def test_a_checkpoint_that_cannot_be_read_back_ends_the_attempt_and_stays(ranks: int, tmp_path: Path) -> None:
    folder = first_attempt(tmp_path, ranks)
    change(folder, SAVED[0], SHARED, lambda shared: shared["optimizer"]["param_groups"][0].update(decay=np.float64(1)))
    assert attempt(folder, 2) == [1] * ranks
    *_, failed = events(folder)
    assert isinstance(failed, Failed)
    assert f"{SAVED[0]}/{SHARED} cannot be loaded: it holds numpy" in failed.reason
    assert "weights_only" not in failed.reason
    assert "\x1b" not in failed.reason
    assert CheckpointDirectory(folder.checkpoints, retained=5).list_complete() == SAVED


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("ranks", [2, 1])
def test_initial_weights_that_are_not_finite_are_refused_by_their_names(ranks: int, tmp_path: Path) -> None:
    folder = first_attempt(tmp_path / "first", ranks)
    change(folder, SAVED[0], SHARED, break_weight)
    weights = {"run": 7, "folder": str(folder.path), "checkpoint": SAVED[0]}
    resources = {"kind": "local", "ranks_per_node": ranks}
    second = prepare(tmp_path / "second", **{**SPEC, "resources": resources, "initial_weights": weights})
    assert attempt(second, 1) == [1] * ranks
    *_, failed = events(second)
    assert isinstance(failed, Failed)
    expected = f"the initial weights of run 7 cannot be read: {SAVED[0]}: the weights are not finite: 1.weight"
    assert expected in failed.reason
