"""A run that is killed and resumed equals the uninterrupted run bit for bit."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from contract.folder.events import Failed, Finished, Paused, Resumed, Saved
from contract.folder.run_folder import RunFolder
from tests.testing.trainers.attempts import Signal, attempt, curve
from tests.testing.trainers.jobs import events, prepare
from trainers.checkpoints import checkpoint_writer
from trainers.checkpoints.checkpoint_directory import CheckpointDirectory
from trainers.ranks.heartbeat import SUPERSEDED

TWO = {"kind": "local", "ranks_per_node": 2}
SGD = {"kind": "sgd", "momentum": 0.9, "nesterov": True, "weight_decay": 0.001}
SMALL: dict[str, Any] = {
    "optimizer": SGD,
    "schedule": {"kind": "polynomial", "rate": 0.1, "warmup_epochs": 1.0},
    "collective": {"kind": "ring"},
    "resources": TWO,
    "checkpoint": {"every_steps": 2},
}
KILL, TERM = signal.SIGKILL, signal.SIGTERM
STEPS = 10


def resumed(folder: RunFolder) -> list[Resumed]:
    return [event for event in events(folder) if isinstance(event, Resumed)]


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("net", "choices"),
    [
        ("", {}),
        ("", {"optimizer": {"kind": "lars"}, "schedule": {"kind": "constant", "rate": 5.0}}),
        ("dropout", {"optimizer": {"kind": "lamb"}, "schedule": {"kind": "constant", "rate": 0.01}, "ema_decay": 0.8}),
        ("", {"optimizer": {"kind": "adamw"}, "schedule": {"kind": "constant", "rate": 0.01}}),
        ("", {"precision": "float16"}),
        (
            "",
            {
                "batch_stages": [{"epoch": 1, "batch": 280}],
                "micro_batch": 50,
                "batch_norm": {"group": 2, "statistics": "last_batch"},
                "label_smoothing": 0.1,
                "clip_norm": 1.0,
            },
        ),
    ],
    ids=["nesterov", "lars", "dropout-lamb-average", "adamw", "float16-loss-scale", "stages-passes-group-norm"],
)
def test_a_run_killed_several_times_has_the_losses_of_an_uninterrupted_run(
    net: str, choices: dict[str, Any], tmp_path: Path
) -> None:
    """SIGKILL to rank 0, to rank 1, to both: before the first checkpoint, at an epoch's end, and at the last step."""
    whole = prepare(tmp_path / "whole", **SMALL | choices)
    assert attempt(whole, 1, net=net) == [0, 0]
    killed = prepare(tmp_path / "killed", **SMALL | choices)
    for number, (victims, step) in enumerate([([0], 1), ([1], 5), ([0, 1], STEPS)], start=1):
        assert -KILL in attempt(killed, number, blow=Signal(KILL, after=step), victims=victims, net=net)
    assert attempt(killed, 4, net=net) == [0, 0]
    assert curve(killed) == curve(whole)
    assert list(curve(whole)) == list(range(1, STEPS + 1))
    for name in ("heldout_loss", "heldout_accuracy", "learning_rate"):
        assert curve(killed, name) == curve(whole, name)
    assert isinstance(events(killed)[-1], Finished)
    marks = [(event.attempt, event.step, event.lost_steps) for event in resumed(killed)]
    assert marks == [(2, 0, 1), (3, 4, 1), (4, 8, 2)], "a restart from the first step is reported too"


def test_a_killed_run_on_two_ranks_resumes_to_the_bit(tmp_path: Path) -> None:
    """SIGKILL to both ranks in the second epoch, a step after a checkpoint."""
    whole = prepare(tmp_path / "whole", **SMALL)
    assert attempt(whole, 1) == [0, 0]
    killed = prepare(tmp_path / "killed", **SMALL)
    assert attempt(killed, 1, blow=Signal(KILL, after=7), victims=[0, 1]) == [-KILL, -KILL]
    assert attempt(killed, 2) == [0, 0]
    for name in ("loss", "heldout_loss", "heldout_accuracy", "learning_rate"):
        assert curve(killed, name) == curve(whole, name)
    assert [(event.attempt, event.step, event.lost_steps) for event in resumed(killed)] == [(2, 6, 1)]


@pytest.mark.ring("all")
def test_all_ranks_skip_a_damaged_checkpoint_and_report_it(tmp_path: Path) -> None:
    """Forces a wrong bit in rank 1's part of the newest checkpoint, which rank 0 does not read."""
    whole = prepare(tmp_path / "whole", **SMALL)
    attempt(whole, 1)
    folder = prepare(tmp_path / "run", **SMALL)
    attempt(folder, 1, blow=Signal(KILL, after=9))
    newest, before = CheckpointDirectory(folder.checkpoints, retained=2).list_complete()
    part = folder.checkpoints / newest / "rank-1.pt"
    whole_part = part.read_bytes()
    part.write_bytes(whole_part[:-1] + bytes([whole_part[-1] ^ 1]))
    assert attempt(folder, 2) == [0, 0]
    (event,) = resumed(folder)
    assert before == f"step-{event.step:010}-attempt-1"
    assert event.lost_steps == 9 - event.step
    assert event.notes == [f"passed over a damaged checkpoint: {newest}/rank-1.pt: its checksum differs"]
    assert curve(folder) == curve(whole)


@pytest.mark.ring("all")
def test_with_another_number_of_ranks_a_run_has_the_same_images_in_each_step(tmp_path: Path) -> None:
    """The losses are equal to rounding, with a model in which images do not depend on each other."""
    whole = prepare(tmp_path / "whole", **SMALL)
    assert attempt(whole, 1, net="plain") == [0, 0]
    folder = prepare(tmp_path / "run", **SMALL)
    attempt(folder, 1, blow=Signal(KILL, after=6), net="plain")
    for number, ranks in ((2, 4), (3, 1)):
        folder.prepare(RunFolder(whole.path).read_spec().model_copy(update={"resources": local(folder, ranks)}))
        blow = Signal(KILL, after=8) if number == 2 else None
        assert attempt(folder, number, blow=blow, net="plain")[0] == (-KILL if blow else 0)
    assert curve_of_last(folder) == pytest.approx(curve(whole), rel=1e-5)
    notes = [note for event in resumed(folder) for note in event.notes]
    assert notes[0] == "saved by 2 ranks, goes on with 4: their random generators begin anew"
    assert "goes on with 1" in notes[1]


def local(folder: RunFolder, ranks: int) -> Any:
    resources = folder.read_spec().resources
    return resources.model_copy(update={"ranks_per_node": ranks})


def curve_of_last(folder: RunFolder) -> dict[int, float]:
    """Return the last reported loss of each step."""
    results = [json.loads(line) for line in folder.events.read_text().splitlines()]
    return {line["step"]: line["values"]["loss"] for line in results if "loss" in line.get("values", {})}


@pytest.mark.ring("all")
def test_a_checkpoint_of_another_run_is_refused_with_the_differences(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run", **SMALL)
    attempt(folder, 1, blow=Signal(TERM, after=3))
    other = {"optimizer": {**SGD, "momentum": 0.8}, "model": {"kind": "convnet", "width": 8}, "seed": 1}
    prepare(tmp_path / "run", **SMALL | other)
    assert attempt(folder, 2)[0] == 1
    failed = events(folder)[-1]
    assert isinstance(failed, Failed)
    assert "belongs to another run" in failed.reason
    for words in ("model.width is 16 there and 8 here", "optimizer.momentum is 0.9 there and 0.8 here", "seed is 0"):
        assert words in failed.reason
    freely = {"collective": {"kind": "native"}, "checkpoint": {"every_minutes": 5.0, "keep": 3}}
    prepare(tmp_path / "run", **SMALL | freely)
    assert attempt(folder, 3) == [0, 0]


@pytest.mark.ring("all")
def test_a_changed_model_with_the_same_name_is_refused_with_its_layer(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run", **SMALL)
    attempt(folder, 1, blow=Signal(TERM, after=3), net="dropout")
    assert attempt(folder, 2, net="plain")[0] == 1
    failed = events(folder)[-1]
    assert isinstance(failed, Failed)
    assert "a checkpoint of another model" in failed.reason


@pytest.mark.ring("all")
@pytest.mark.parametrize("victims", [[1], [0], [0, 1]], ids=["one", "first", "all"])
@pytest.mark.parametrize("blow", [TERM, signal.SIGUSR2])
def test_a_signal_to_any_rank_pauses_all_ranks_at_one_step(
    blow: signal.Signals, victims: list[int], tmp_path: Path
) -> None:
    folder = prepare(tmp_path / "run", **SMALL | {"checkpoint": {}})
    assert attempt(folder, 1, blow=Signal(blow, after=4), victims=victims) == [4, 4]
    saved, paused = events(folder)[-2:]
    assert isinstance(saved, Saved)
    assert isinstance(paused, Paused)
    assert (paused.step, paused.saved_step, saved.error) == (max(curve(folder)), saved.step, None)
    assert paused.step in (5, 6), "a signal after step 4 is handled in step 5 or shortly after"
    assert paused.step == saved.step
    assert paused.reason.startswith(f"{blow.name} to rank ")
    assert attempt(folder, 2) == [0, 0]
    assert [event.step for event in resumed(folder)] == [paused.step]
    assert [event.lost_steps for event in resumed(folder)] == [0]
    assert list(curve(folder)) == list(range(1, STEPS + 1))


@pytest.mark.ring("all")
def test_a_run_that_cannot_be_saved_continues_and_reports_it(tmp_path: Path) -> None:
    """Forces a full disk for every checkpoint part of rank 1."""
    folder = prepare(tmp_path / "run", **SMALL)
    assert attempt(folder, 1, blow=fill_disk, victims=[1]) == [0, 0]
    saves = [event for event in events(folder) if isinstance(event, Saved)]
    failed = [event for event in saves if event.error]
    assert failed
    assert all("rank 1: [Errno 28] No space left on device" in str(event.error) for event in failed)
    assert isinstance(events(folder)[-1], Finished)


def fill_disk(step: int) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    checkpoint_writer.CheckpointDirectory.write_part = full  # type: ignore[method-assign, assignment]


def test_a_superseded_attempt_exits_and_saves_nothing(tmp_path: Path) -> None:
    """Forces a claim of attempt 2 while attempt 1 is running."""
    folder = prepare(tmp_path / "run", **SMALL | {"resources": {"kind": "local", "ranks_per_node": 1}})
    folder.claim(2, "another")
    assert attempt(folder, 1) == [SUPERSEDED]
    assert CheckpointDirectory(folder.checkpoints, retained=2).list_complete() == []
