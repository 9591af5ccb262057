"""Runs whose replicas differ are killed, paused and resumed; bit-identically if their order is deterministic."""

import signal
from pathlib import Path
from typing import Any

import pytest
import torch

from contract.folder.events import Finished, Paused, Resumed, Saved
from contract.folder.run_folder import RunFolder
from tests.testing.trainers.attempts import KillAtStep, Signal, attempt, curve
from tests.testing.trainers.jobs import events, losses, prepare
from trainers.checkpoints.checkpoint_directory import SHARED, CheckpointDirectory, rank_part

SMALL: dict[str, Any] = {
    "optimizer": {"kind": "sgd", "momentum": 0.9},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 240,
    "collective": {"kind": "native"},
    "resources": {"kind": "local", "ranks_per_node": 3},
    "checkpoint": {"every_steps": 2},
}
STEPS = 10
KILL, TERM = signal.SIGKILL, signal.SIGTERM
ALL = [0, 1, 2]
SERVED = [
    {"kind": "easgd", "variant": "async"},
    {"kind": "easgd", "variant": "hogwild", "packed": False},
    {"kind": "async_sgd"},
]


def small(rule: dict[str, Any], **choices: Any) -> dict[str, Any]:
    return SMALL | {"rule": rule} | choices


def name_of(rule: dict[str, Any]) -> str:
    return str(rule.get("variant", rule["kind"]))


def resumed(folder: RunFolder) -> list[Resumed]:
    return [event for event in events(folder) if isinstance(event, Resumed)]


def newest(folder: RunFolder) -> dict[str, dict[str, Any]]:
    """Return all parts of the newest checkpoint."""
    directory = CheckpointDirectory(folder.checkpoints, retained=2)
    name = directory.list_complete()[0]
    manifest = directory.read_manifest(name)
    return {part: directory.read_part(name, manifest, part) for part in manifest.parts}


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    "rule",
    [
        {"kind": "easgd", "variant": "original"},
        {"kind": "easgd", "variant": "sync1"},
        {"kind": "easgd", "variant": "sync2", "period": 2, "packed": False},
        {"kind": "easgd", "variant": "sync3", "period": 2},
    ],
    ids=name_of,
)
def test_a_killed_run_has_the_losses_of_an_uninterrupted_run(rule: dict[str, Any], tmp_path: Path) -> None:
    """SIGKILL to rank 0 in the second epoch; the center continues bit-identically, and is evaluated."""
    whole = prepare(tmp_path / "whole", **small(rule))
    assert attempt(whole, 1) == [0, 0, 0]
    killed = prepare(tmp_path / "killed", **small(rule))
    assert attempt(killed, 1, blow=Signal(KILL, after=8))[0] == -KILL
    assert attempt(killed, 2) == [0, 0, 0]
    assert list(curve(whole)) == list(range(1, STEPS + 1))
    for name in ("loss", "heldout_loss", "heldout_accuracy"):
        assert curve(killed, name) == curve(whole, name)
    (event,) = resumed(killed)
    assert 4 <= event.step <= 8


@pytest.mark.ring("all")
@pytest.mark.parametrize("rule", SERVED, ids=name_of)
def test_a_killed_asynchronous_run_resumes_every_replica_at_its_step(rule: dict[str, Any], tmp_path: Path) -> None:
    """SIGKILL to rank 0: every replica then makes one exchange for each remaining step, as the center counts."""
    momentum = 0.0 if rule.get("variant") == "hogwild" else 0.9
    often = {"checkpoint": {"every_steps": 20, "at_end": True}, "optimizer": {"kind": "sgd", "momentum": momentum}}
    folder = prepare(tmp_path / "run", **small(rule, **often, epochs=30))
    steps = folder.read_spec().steps
    assert attempt(folder, 1, blow=KillAtStep({0: 45}), victims=ALL) == [-KILL, 1, 1]
    saved = newest(folder)
    assert set(saved) == {SHARED, rank_part(0), rank_part(1), rank_part(2)}
    assert attempt(folder, 2) == [0, 0, 0]
    (event,) = resumed(folder)
    assert (event.step, event.notes) == (saved[rank_part(0)]["step"], [])
    assert list(curve_of_last(folder)) == list(range(1, steps + 1))
    assert isinstance(events(folder)[-1], Finished)
    end = newest(folder)
    assert sorted(end[SHARED]["finished"]) == [1, 2]
    then, now = (parts[rank_part(0)]["rule"]["center"]["updates"] for parts in (saved, end))
    for rank in range(3):
        assert now[rank] - then[rank] == steps - saved[rank_part(rank)]["step"]


def curve_of_last(folder: RunFolder) -> dict[int, float | None]:
    results: dict[int, float | None] = {}
    for event in events(folder):
        if event.kind == "points" and "loss" in event.values:
            results[event.step] = event.values["loss"]
    return dict(sorted(results.items()))


@pytest.mark.ring("all")
def test_a_worker_without_saved_state_starts_from_the_center(tmp_path: Path) -> None:
    """Forces SIGKILL of rank 2 in its first epoch, before the later checkpoints, and of rank 0 at step 65."""
    often = {"checkpoint": {"every_steps": 20}}
    folder = prepare(tmp_path / "run", **small({"kind": "easgd", "variant": "async"}, **often, epochs=40))
    assert attempt(folder, 1, blow=KillAtStep({2: 4, 0: 65}), victims=ALL) == [-KILL, 1, -KILL]
    assert rank_part(2) not in newest(folder)
    assert attempt(folder, 2) == [0, 0, 0]
    (event,) = resumed(folder)
    assert event.notes == ["rank 2 has no part in it: lost or finished then, or new"]
    assert isinstance(events(folder)[-1], Finished)


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    ("rule", "victims", "blow"),
    [
        ({"kind": "easgd", "variant": "async"}, ALL, TERM),
        ({"kind": "easgd", "variant": "original"}, ALL, signal.SIGUSR2),
        ({"kind": "async_sgd"}, ALL, TERM),
        ({"kind": "easgd", "variant": "sync1"}, [2], TERM),
        ({"kind": "easgd", "variant": "sync3", "period": 3}, [1], signal.SIGUSR2),
    ],
    ids=["async", "original", "async_sgd", "sync1", "sync3"],
)
def test_a_signal_pauses_the_run_and_it_resumes(
    rule: dict[str, Any], victims: list[int], blow: signal.Signals, tmp_path: Path
) -> None:
    folder = prepare(tmp_path / "run", **small(rule, checkpoint={}, epochs=12))
    assert attempt(folder, 1, blow=Signal(blow, after=5), victims=victims) == [4, 4, 4]
    saved, paused = events(folder)[-2:]
    assert isinstance(saved, Saved)
    assert isinstance(paused, Paused)
    assert (saved.error, paused.step, paused.saved_step) == (None, saved.step, saved.step)
    assert paused.reason.startswith(f"{blow.name} to rank ")
    assert set(newest(folder)) == {SHARED, rank_part(0), rank_part(1), rank_part(2)}
    assert attempt(folder, 2) == [0, 0, 0]
    (event,) = resumed(folder)
    assert (event.step, event.lost_steps) == (paused.step, 0)
    assert list(curve_of_last(folder)) == list(range(1, STEPS_OF_12 + 1))


STEPS_OF_12 = 60


@pytest.mark.ring("all")
@pytest.mark.parametrize("variant", ["sync2", "async"])
def test_on_more_ranks_new_replicas_start_from_the_center(variant: str, tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run", **small({"kind": "easgd", "variant": variant}, epochs=12))
    attempt(folder, 1, blow=KillAtStep({0: 6}), victims=ALL)
    run = folder.read_spec()
    folder.prepare(run.model_copy(update={"resources": run.resources.model_copy(update={"ranks_per_node": 4})}))
    assert attempt(folder, 2) == [0, 0, 0, 0]
    (event,) = resumed(folder)
    assert event.notes == [
        "saved by 3 ranks, goes on with 4",
        "rank 3 has no part in it: lost or finished then, or new",
    ]
    assert len(losses(folder)) >= STEPS_OF_12


@pytest.mark.ring("all")
def test_the_shared_part_of_a_checkpoint_is_the_center(tmp_path: Path) -> None:
    folder = prepare(tmp_path / "run", **small({"kind": "easgd", "variant": "sync2"}, checkpoint={"at_end": True}))
    assert attempt(folder, 1) == [0, 0, 0]
    parts = newest(folder)
    center_N = torch.cat([p.flatten() for p in parts[SHARED]["parameters"].values()])
    for rank in range(3):
        assert torch.equal(parts[rank_part(rank)]["rule"]["center"]["center"], center_N)
        replica = parts[rank_part(rank)]["replica"]["parameters"]
        assert not torch.equal(torch.cat([p.flatten() for p in replica.values()]), center_N)
