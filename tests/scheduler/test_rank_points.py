"""The points of ranks above 0: stored once, from cursors of their own, to the last line that a rank has written."""

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from contract.folder.bounds import MAX_RANK_SERIES, MAX_SERIES
from contract.folder.events import Finished, Points
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.state import State
from scheduler.clusters.cluster import gone
from scheduler.context import Context
from scheduler.events import rank_points
from scheduler.events.rank_points import MAX_FILES, read_rank_points, unread_of_ranks
from scheduler.events.report import RunReport
from scheduler.events.tail import MAX_BACKLOG_BYTES, BacklogError, Tail
from scheduler.submit.submission import submit_queued
from scheduler.ticks import ingest as ingest_tick
from scheduler.ticks.ingest import ingest
from store import runs
from store.metrics import curves, points
from store.session import snapshot
from store.tables.base import now
from store.tables.points import Series
from tests.testing.clusters import Puppet
from tests.testing.events import STARTED, report
from tests.testing.hostile_files import IRREGULAR, plant
from tests.testing.runs import read

FINISHED = Finished(attempt=1, at=9.0, step=4)


@pytest.fixture
def run_id(context: Context, run_ids: list[int]) -> int:
    submit_queued(context)
    report(context, run_ids[0], STARTED)
    ingest(context)
    return run_ids[0]


def log_points(folder: RunFolder, rank: int, steps: Sequence[int], torn: str = "", name: str = "loss") -> None:
    """Append points as rank `rank` does."""
    path = folder.path / "points" / f"rank-{rank}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        json.dumps({"kind": "points", "attempt": 1, "at": 1.0, "step": step, "values": {name: step / 2}})
        for step in steps
    ]
    with path.open("a") as file:
        file.write("".join(f"{line}\n" for line in lines) + torn)


def steps_of(context: Context, run_id: int, rank: int) -> list[int]:
    with snapshot(context.engine) as db:
        return curves.of_run(db, run_id, [f"loss/rank-{rank}"], after=-1, limit=100_000)[0][f"loss/rank-{rank}"][0]


def folder_of(context: Context, run_id: int) -> RunFolder:
    return context.folder_of(read(context, run_id))


def test_each_rank_has_series_of_its_own(context: Context, run_id: int) -> None:
    folder = folder_of(context, run_id)
    report(context, run_id, Points(attempt=1, at=1.0, step=1, values={"loss": 1.0}))
    log_points(folder, 1, [1, 2])
    log_points(folder, 23, [5])
    ingest(context)
    with snapshot(context.engine) as db:
        assert points.names(db, run_id) == ["loss", "loss/rank-1", "loss/rank-23"]
    assert (steps_of(context, run_id, 1), steps_of(context, run_id, 23)) == ([1, 2], [5])
    run = read(context, run_id)
    assert (run.latest, run.step) == ({"loss": 1.0}, 1)  # the run's own values are those of rank 0


def test_lines_are_read_once_and_a_torn_one_waits(context: Context, run_id: int) -> None:
    folder = folder_of(context, run_id)
    log_points(folder, 1, [1], torn='{"kind":"points","attempt":1,"at":1.0,')
    ingest(context)
    first = read(context, run_id).rank_cursors
    ingest(context)
    assert (steps_of(context, run_id, 1), read(context, run_id).rank_cursors) == ([1], first)
    log_points(folder, 1, [3], torn="", name="loss")  # the torn line and this one are one damaged line
    log_points(folder, 1, [4])
    ingest(context)
    assert steps_of(context, run_id, 1) == [1, 4]
    assert read(context, run_id).rank_cursors == {"1": (folder.path / "points/rank-1.jsonl").stat().st_size}


@pytest.mark.ring("all")
def test_points_and_cursors_are_stored_together(context: Context, run_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: the worker dies between the points and the commit."""
    log_points(folder_of(context, run_id), 1, [1, 2])

    def die(*_: Any) -> None:
        raise RuntimeError("the worker dies")

    with monkeypatch.context() as fault:
        fault.setattr("scheduler.events.apply.points.put_many", die)
        ingest(context)
    assert (steps_of(context, run_id, 1), read(context, run_id).rank_cursors) == ([], {})
    ingest(context)
    assert steps_of(context, run_id, 1) == [1, 2]


def test_a_worker_that_read_the_same_lines_meanwhile_moves_no_cursor_back(context: Context, run_id: int) -> None:
    """Forces the order: one worker reads, another one reads and stores more, then the first one stores."""
    log_points(folder_of(context, run_id), 1, [1])
    with snapshot(context.engine) as db:
        (late,) = [run for run in runs.live(db, ended_after=now()) if run.id == run_id]
    ingest(context)
    log_points(folder_of(context, run_id), 1, [2])
    ingest(context)
    after = read(context, run_id).rank_cursors
    assert ingest_tick._store(context, [RunReport(late, Tail([], late.cursor, False))], {}) == []
    assert read(context, run_id).rank_cursors == after


@pytest.mark.ring("all")
@pytest.mark.parametrize("is_reported", [True, False])
def test_nothing_is_lost_when_the_run_ends(
    context: Context, puppet: Puppet, run_id: int, monkeypatch: pytest.MonkeyPatch, is_reported: bool
) -> None:
    """Forces the fault: the ranks' files are far longer than one tick reads when the job ends."""
    monkeypatch.setattr(ingest_tick, "FIRST_BYTES", 1 << 12)
    monkeypatch.setattr(ingest_tick, "MAX_BYTES", 1 << 13)
    monkeypatch.setattr(ingest_tick, "MAX_ROUNDS", 2)
    folder = folder_of(context, run_id)
    for rank in (1, 2, 3):
        log_points(folder, rank, range(2_000))
    if is_reported:
        report(context, run_id, FINISHED)
    puppet.answers["job1"] = gone(EndKind.COMPLETED if is_reported else EndKind.NODE_FAILED)
    ticks = 0
    while read(context, run_id).state is State.RUNNING:
        ingest(context)
        ticks += 1
        assert ticks < 1_000
    assert [steps_of(context, run_id, rank) for rank in (1, 2, 3)] == [list(range(2_000))] * 3
    assert ticks > 1


def test_lines_that_a_slow_file_system_shows_after_the_end_are_read(
    context: Context, puppet: Puppet, run_id: int
) -> None:
    folder = folder_of(context, run_id)
    report(context, run_id, FINISHED)
    puppet.answers["job1"] = gone(EndKind.COMPLETED)._replace(cause=ExitCause.DONE)
    ingest(context)
    assert read(context, run_id).state is State.DONE
    log_points(folder, 1, [7])
    ingest(context)
    assert steps_of(context, run_id, 1) == [7]


def test_the_next_attempt_continues_from_the_cursors(context: Context, run_id: int) -> None:
    folder = folder_of(context, run_id)
    log_points(folder, 1, [1, 2, 3])
    ingest(context)
    log_points(folder, 1, [2, 3, 4])
    ingest(context)
    assert steps_of(context, run_id, 1) == [1, 2, 3, 4]


def test_a_run_without_such_files_costs_one_look(
    context: Context, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    real = os.lstat

    def lstat(path: Any, **options: Any) -> os.stat_result:
        looks.append(str(path))
        return real(path, **options)

    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a file was opened")

    folder = folder_of(context, run_id)
    with monkeypatch.context() as spy:
        spy.setattr(os, "lstat", lstat)
        spy.setattr(os, "open", refuse)
        spy.setattr(os, "scandir", refuse)
        assert unread_of_ranks(folder, {}) == {}
    assert looks == [f"{folder.path}/points"]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("kind", IRREGULAR)
def test_a_hostile_file_or_folder_has_no_points(context: Context, run_id: int, kind: str) -> None:
    folder = folder_of(context, run_id)
    log_points(folder, 2, [1])
    plant(folder.path / "points" / "rank-1.jsonl", kind)
    ingest(context)
    assert steps_of(context, run_id, 2) == [1]
    (folder.path / "points").rename(folder.path / "elsewhere")
    if kind != "folder":
        plant(folder.path / "points", kind)
    assert unread_of_ranks(folder, {}) == {}


@pytest.mark.parametrize(
    "name", ["rank-0.jsonl", "rank-01.jsonl", "rank-1.jsonl.old", "rank--1.jsonl", "rank-9999999.jsonl", "rank-x.jsonl"]
)
def test_a_file_of_another_name_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "points").mkdir()
    (tmp_path / "points" / name).write_text("x\n")
    assert unread_of_ranks(RunFolder(tmp_path), {}) == {}


def test_events_of_another_kind_in_a_ranks_file_change_nothing(context: Context, run_id: int) -> None:
    folder = folder_of(context, run_id)
    failed = json.dumps({"kind": "failed", "attempt": 1, "at": 1.0, "rank": 1, "reason": "no"})
    log_points(folder, 1, [1], torn=f"{failed}\n{FINISHED.model_dump_json()}\nno JSON\n")
    log_points(folder, 1, [2])
    ingest(context)
    assert (read(context, run_id).state, steps_of(context, run_id, 1)) == (State.RUNNING, [1, 2])


def test_the_number_of_files_is_bounded_over_all_ticks(context: Context, run_id: int) -> None:
    """Forces the fault: a job makes new names in each tick, so that the cursors would grow without end."""
    folder = folder_of(context, run_id)
    for start in (1, 1_000, 2_000):
        for rank in range(start, start + 200):
            log_points(folder, rank, [1])
        ingest(context)
    cursors = read(context, run_id).rank_cursors
    assert len(cursors) == MAX_FILES
    assert {"1", "200", "1000", "1055"} <= cursors.keys()


def test_a_backlog_without_end_ends_the_run(context: Context, run_id: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: sparse files of gigabytes."""
    folder = folder_of(context, run_id)
    (folder.path / "points").mkdir()
    for rank in (1, 2):
        with (folder.path / "points" / f"rank-{rank}.jsonl").open("wb") as file:
            file.truncate(MAX_BACKLOG_BYTES // 2 + 1)
    with pytest.raises(BacklogError, match="unread bytes"):
        unread_of_ranks(folder, {})
    monkeypatch.setattr("scheduler.events.uncollected.FAILURES", 2)
    for _ in range(2):
        ingest(context)
    assert read(context, run_id).state is State.FAILED


def test_one_read_takes_an_equal_part_of_each_file(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for rank in (1, 2):
        log_points(folder, rank, range(5_000))
    part = read_rank_points(folder, {}, unread_of_ranks(folder, {}), 1 << 16)
    assert part.more
    assert part.cursors["1"] == part.cursors["2"] <= 1 << 15


def test_series_of_ranks_leave_room_for_those_of_the_run(context: Context, run_id: int) -> None:
    folder = folder_of(context, run_id)
    values = {f"m{number:04}": 1.0 for number in range(MAX_SERIES)}
    line = json.dumps({"kind": "points", "attempt": 1, "at": 1.0, "step": 1, "values": values})
    log_points(folder, 1, [], torn=f"{line}\n")
    ingest(context)
    report(context, run_id, Points(attempt=1, at=1.0, step=1, values={f"n{number}": 1.0 for number in range(500)}))
    ingest(context)
    with snapshot(context.engine) as db:
        names = points.names(db, run_id)
        assert db.scalar(select(func.count()).select_from(Series).where(Series.run_id == run_id)) == len(names)
    assert sum(name.endswith("/rank-1") for name in names) == MAX_RANK_SERIES
    assert sum(name.startswith("n") for name in names) == 500


def test_a_name_that_becomes_too_long_is_left_out(context: Context, run_id: int) -> None:
    folder = folder_of(context, run_id)
    log_points(folder, 1, [1], name="a" * 200)
    log_points(folder, 1, [1], name="a" * 193)
    ingest(context)
    with snapshot(context.engine) as db:
        assert points.names(db, run_id) == ["a" * 193 + "/rank-1"]


def test_the_files_of_many_ranks_are_read_in_one_tick(context: Context, run_id: int) -> None:
    folder = folder_of(context, run_id)
    for rank in range(1, MAX_FILES + 1):
        log_points(folder, rank, range(10))
    began = time.monotonic()
    ingest(context)
    assert time.monotonic() - began < 60
    assert [len(steps_of(context, run_id, rank)) for rank in (1, 100, MAX_FILES)] == [10] * 3
    assert rank_points.unread_of_ranks(folder, read(context, run_id).rank_cursors) == {}
