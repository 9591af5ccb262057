"""Event files of TensorBoard: each reported point is in its run's file once, whatever ends the worker."""

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.sources.records import read_records
from agent.sources.summaries import scalars_of
from contract.folder.events import Finished, Points, Resumed
from contract.settings import Settings
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.tensorboard import event_files
from scheduler.tensorboard.event_files import LATEST, POSITION, folder_of, write_event_files
from scheduler.ticks.ingest import ingest
from store import runs
from store.session import snapshot
from store.tables.base import now
from tests.testing.events import STARTED, report
from tests.testing.frameworks import make_environment

READER = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
found = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0}).Reload()
tags = {tag: [[one.wall_time, one.step, one.value] for one in found.Scalars(tag)] for tag in found.Tags()["scalars"]}
print(json.dumps(tags))
"""
Scalars = dict[str, list[list[float]]]


@pytest.fixture
def writing(context: Context, tmp_path: Path) -> Context:
    """A worker of a service with the setting."""
    return replace(context, tensorboard_folder=tmp_path / "tensorboard")


@pytest.fixture
def run_id(writing: Context, run_ids: list[int]) -> int:
    submit_queued(writing)
    report(writing, run_ids[0], STARTED)
    ingest(writing)
    return run_ids[0]


def point(step: int, attempt: int = 1, **values: float) -> Points:
    return Points(attempt=attempt, at=1000.0 + step, step=step, values=dict(values))


def take(context: Context, run_id: int, *events: Any) -> None:
    """Let a job report, and both ticks read it."""
    report(context, run_id, *events)
    ingest(context)
    write_event_files(context)


def folder(context: Context, run_id: int) -> Path:
    with snapshot(context.engine) as db:
        (run,) = [one for one in runs.read_lately(db, ended_after=now() - LATEST) if one.id == run_id]
    assert context.tensorboard_folder is not None
    return folder_of(context.tensorboard_folder, run)


def event_file(context: Context, run_id: int) -> Path:
    (path,) = folder(context, run_id).glob("events.out.tfevents.*")
    return path


def losses(context: Context, run_id: int) -> list[tuple[int, float]]:
    """Return step and loss of each record, repeated ones too, by the agent's reader of event files."""
    path = event_file(context, run_id)
    found = read_records(str(path), 0, 1 << 22)
    assert found.cursor == path.stat().st_size
    scalars = [point for record in found.records if (point := scalars_of(record))]
    return [(one.step, one.values["loss"]) for one in scalars if "loss" in one.values]


@pytest.fixture(scope="session")
def tensorboard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with TensorBoard."""
    return make_environment(tmp_path_factory.mktemp("tensorboard") / "venv") / "bin" / "python"


def read_by(python: Path, path: Path) -> Scalars:
    done = subprocess.run([python, "-c", READER, path], check=True, capture_output=True, text=True)
    found: Scalars = json.loads(done.stdout)
    return found


@pytest.mark.ring("all")
def test_tensorboard_reads_each_series_with_steps_and_moments(writing: Context, run_id: int, tensorboard: Path) -> None:
    points = [point(step, loss=1 / step, **{"eval/top 5": step / 10}) for step in (1, 2, 3)]
    take(writing, run_id, *points[:2])
    ranks = writing.folder_of(_named(writing, run_id)).path / "points"
    ranks.mkdir()
    line = {"kind": "points", "attempt": 1, "at": 7.0, "step": 2, "values": {"loss": 0.25}}
    (ranks / "rank-1.jsonl").write_text(json.dumps(line) + "\n")
    take(writing, run_id, points[2], point(4, loss=math.nan), point(5, loss=1e300))
    found = read_by(tensorboard, folder(writing, run_id))
    assert found["loss"][:3] == [[1001.0, 1, 1.0], [1002.0, 2, 0.5], [1003.0, 3, pytest.approx(1 / 3)]]
    assert math.isnan(found["loss"][3][2])
    assert found["loss"][4][2] == math.inf
    assert [step for _, step, _ in found["eval/top 5"]] == [1, 2, 3]
    assert found["loss/rank-1"] == [[7.0, 2, 0.25]]


@pytest.mark.ring("all")
def test_tensorboard_shows_the_later_attempt_of_a_repeated_step(
    writing: Context, run_id: int, tensorboard: Path
) -> None:
    first = [point(step, loss=step) for step in range(1, 7)]
    again = [point(step, loss=10 * step) for step in range(4, 9)]
    take(writing, run_id, *first)
    take(writing, run_id, Resumed(attempt=1, at=1010.0, step=3, lost_steps=3), *again)
    found = read_by(tensorboard, folder(writing, run_id))["loss"]
    assert [(step, value) for _, step, value in found] == [
        *[(1, 1.0), (2, 2.0), (3, 3.0)],
        *[(4, 40.0), (5, 50.0), (6, 60.0), (7, 70.0), (8, 80.0)],
    ]


def test_a_worker_that_is_killed_between_file_and_position_writes_no_point_twice(
    writing: Context, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the records are on the disk, and the position is not."""
    take(writing, run_id, point(1, loss=1.0))
    with monkeypatch.context() as patch:
        patch.setattr(event_files.Position, "write", _killed)
        with pytest.raises(KeyboardInterrupt):
            take(writing, run_id, point(2, loss=2.0))
    with event_file(writing, run_id).open("ab") as file:
        file.write(b"a part of a record")
    other = replace(writing, memory=type(writing.memory)())
    take(other, run_id, point(3, loss=3.0))
    assert losses(other, run_id) == [(1, 1.0), (2, 2.0), (3, 3.0)]


def test_another_worker_goes_on_where_the_first_one_ended(writing: Context, run_id: int) -> None:
    take(writing, run_id, point(1, loss=1.0))
    other = replace(writing, memory=type(writing.memory)())
    take(other, run_id, point(2, loss=2.0))
    write_event_files(writing)
    take(other, run_id, point(3, loss=3.0), Finished(attempt=1, at=9.0, step=3))
    assert losses(writing, run_id) == [(1, 1.0), (2, 2.0), (3, 3.0)]


@pytest.mark.ring("all")
def test_a_run_of_many_parts_is_written_whole(writing: Context, run_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_files, "MAX_BYTES", 1000)
    take(writing, run_id, *[point(step, loss=float(step)) for step in range(1, 201)])
    assert losses(writing, run_id) == [(step, float(step)) for step in range(1, 201)]


def test_what_is_not_stored_yet_is_not_written(writing: Context, run_id: int) -> None:
    take(writing, run_id, point(1, loss=1.0))
    report(writing, run_id, point(2, loss=2.0))
    write_event_files(writing)
    assert losses(writing, run_id) == [(1, 1.0)]


def test_a_folder_that_cannot_be_written_holds_up_no_other_run(
    writing: Context, run_ids: list[int], run_id: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Forces the fault: a file is in the place of the first run's folder."""
    first = folder(writing, run_id)
    first.parent.mkdir(parents=True)
    first.write_text("")
    report(writing, run_ids[1], STARTED)
    take(writing, run_ids[1], point(1, loss=1.0))
    assert losses(writing, run_ids[1]) == [(1, 1.0)]
    assert f"the event file of run {run_id} cannot be written" in caplog.text
    first.unlink()
    writing.memory.retries.forget(("event file", run_id))  # its wait is over
    take(writing, run_id, point(1, loss=4.0))
    assert losses(writing, run_id) == [(1, 4.0)]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("also_position", [False, True])
def test_a_removed_event_file_is_written_anew(writing: Context, run_id: int, also_position: bool) -> None:
    take(writing, run_id, point(1, loss=1.0))
    event_file(writing, run_id).unlink()
    if also_position:
        (folder(writing, run_id) / POSITION).unlink()
    take(writing, run_id, point(2, loss=2.0))
    assert losses(writing, run_id) == [(1, 1.0), (2, 2.0)]
    assert (folder(writing, run_id) / POSITION).exists()


def test_without_the_setting_nothing_is_written(context: Context, run_ids: list[int], tmp_path: Path) -> None:
    write_event_files(context)
    assert not (tmp_path / "tensorboard").exists()


def test_a_worker_without_the_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: tensorboardX is not installed."""
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ValueError, match=r"pip install 'bigbatch\[tensorboard\]'"):
        Context.of(Settings(home=tmp_path, slurm=False, tensorboard=tmp_path / "tensorboard"))


def test_the_folder_of_the_run_folders_is_refused(tmp_path: Path) -> None:
    """Forces the fault: a program's event files are read in its folder, so it would read what was written of it."""
    with pytest.raises(ValueError, match="in the folder of the run folders"):
        Context.of(Settings(home=tmp_path, slurm=False, tensorboard=tmp_path / "runs" / "tensorboard"))


def _killed(*_: object) -> None:
    raise KeyboardInterrupt


def _named(context: Context, run_id: int) -> Any:
    with snapshot(context.engine) as db:
        return next(one for one in runs.read_lately(db, ended_after=now() - LATEST) if one.id == run_id)
