"""A resumed run has the data of its checkpoint, or is refused, unless its spec accepts other data."""

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.folder.events import Failed, Finished, Resumed
from contract.folder.run_folder import RunFolder
from tests.testing.trainers.attempts import Signal, attempt, curve
from tests.testing.trainers.jobs import events, prepare
from trainers.checkpoints.checkpoint_directory import CheckpointDirectory

HERE = "tests.testing.trainers.drawn_parts"
PAUSED = 4


def own(name: str, **options: Any) -> dict[str, Any]:
    return {"kind": "import", "function": f"{HERE}:{name}", "options": options}


def run(path: Path, data: dict[str, Any], world: int, **choices: Any) -> RunFolder:
    sizes = {"shape": [1, 8, 8], "classes": 4, "train_samples": 48, "heldout_samples": 16}
    return prepare(
        path,
        data=data | sizes,
        model=own("net"),
        **{"optimizer": {"kind": "sgd"}, **choices},
        schedule={"kind": "constant", "rate": 0.1},
        batch=12,
        epochs=2,
        collective={"kind": "native"},
        resources={"kind": "local", "ranks_per_node": world},
    )


def seeded(path: Path, world: int = 2) -> tuple[RunFolder, Path]:
    """Return a run whose data depend on the seed in a file."""
    seed = path / "seed"
    seed.write_text("1")
    return run(path / "run", own("split_of", path=str(seed)), world), seed


def pause(folder: RunFolder, number: int, *, after: int) -> None:
    world = folder.read_spec().resources.world
    assert attempt(folder, number, blow=Signal(signal.SIGTERM, after=after)) == [PAUSED] * world


def accept(folder: RunFolder, *, value: bool) -> None:
    spec = json.loads((folder.path / "spec.json").read_text())
    spec["checkpoint"]["accept_new_data"] = value
    (folder.path / "spec.json").write_text(json.dumps(spec))


def failure(folder: RunFolder) -> str:
    return next(event.reason for event in reversed(events(folder)) if isinstance(event, Failed))


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [2, 1, 3])
def test_a_resumed_run_with_other_data_is_refused_until_its_spec_accepts_them(world: int, tmp_path: Path) -> None:
    folder, seed = seeded(tmp_path, world)
    pause(folder, 1, after=1)
    seed.write_text("2")
    assert attempt(folder, 2) == [1] * world
    assert "the labels of the training set are others; the labels of the held-out set are others" in failure(folder)
    assert "retry the run with --accept-new-data" in failure(folder)
    accept(folder, value=True)
    pause(folder, 3, after=4)
    resumed = [event for event in events(folder) if isinstance(event, Resumed)][-1]
    assert any("checkpoint.accept_new_data allows it" in note for note in resumed.notes)
    accept(folder, value=False)
    assert attempt(folder, 4) == [0] * world, "the next checkpoint is of the new data"
    assert isinstance(events(folder)[-1], Finished)


def test_data_of_an_unseeded_generator_are_noticed_on_a_single_rank_when_the_run_resumes(tmp_path: Path) -> None:
    folder = run(tmp_path, own("split_by", source="unseeded"), 1)
    pause(folder, 1, after=1)
    assert attempt(folder, 2) == [1]
    assert "the data are not those of the checkpoint at step 2" in failure(folder)


def test_a_checkpoint_of_an_earlier_version_without_a_digest_of_its_data_resumes(tmp_path: Path) -> None:
    folder, seed = seeded(tmp_path)
    pause(folder, 1, after=1)
    directory = CheckpointDirectory(folder.checkpoints, retained=9)
    (name,) = directory.list_complete()
    manifest = directory.read_manifest(name)
    directory.write_manifest(replace(manifest, about={"spec": manifest.about["spec"]}))
    seed.write_text("2")
    assert attempt(folder, 2) == [0, 0]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("noise", ["numpy", "python", "torch"])
def test_a_resumed_run_draws_in_its_optimizer_what_an_uninterrupted_run_draws(noise: str, tmp_path: Path) -> None:
    choices = {"optimizer": own("NoisySGD", noise=noise)}
    whole, paused = (
        run(tmp_path / name, own("split_by", source="numpy"), 2, **choices) for name in ("whole", "paused")
    )
    assert attempt(whole, 1) == [0, 0]
    pause(paused, 1, after=2)
    assert attempt(paused, 2) == [0, 0]
    assert curve(paused) == curve(whole)
    assert curve(paused, "heldout_loss") == curve(whole, "heldout_loss")
