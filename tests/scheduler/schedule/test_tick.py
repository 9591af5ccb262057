"""Each start of a schedule makes one experiment, whatever is killed, however the clock jumps, on both databases."""

import shutil
import threading
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, func, select, update

from contract.lifecycle.schedule import Missed, Overlap, StartStatus
from contract.lifecycle.state import State
from scheduler.clusters.local import Local
from scheduler.context import Context
from scheduler.ticks.schedule import schedule
from store import schedules
from store.session import engine_for, snapshot, transaction
from store.tables.base import now
from store.tables.experiments import Experiment
from store.tables.runs import Run
from store.tables.schedules import Schedule, ScheduleStart
from tests.testing.faults import kill_points
from tests.testing.faults.kill_points import die_at, last_of_lines, watched
from tests.testing.stored_runs import TO_RUNNING, move
from tests.testing.workflows import program

SPEC = {"name": "nightly", "base": program()}
KILLED_IN = (
    "schedule.py",
    "carry_out.py",
    "acceptance.py",
    "schedules.py",
    "creation.py",
    "new_runs.py",
    "session.py",
    "transitions.py",
)


def add(context: Context, **columns: Any) -> int:
    defaults: dict[str, Any] = {
        "name": "nightly",
        "owner": "ada",
        "spec": SPEC,
        "cron": "* * * * *",
        "time_zone": "UTC",
        "path": None,
        "missed": Missed.RUN_ONCE,
        "overlap": Overlap.ALLOW,
        "next_at": last_minute(),
    }
    with transaction(context.engine) as db:
        return schedules.add_schedule(db, [], **defaults | columns).id


def last_minute() -> datetime:
    return now().replace(second=0, microsecond=0)


def starts(context: Context) -> list[ScheduleStart]:
    with snapshot(context.engine) as db:
        return list(reversed(schedules.starts_of(db, 1, 1000)))


def experiments(context: Context) -> list[Experiment]:
    with snapshot(context.engine) as db:
        return list(db.scalars(select(Experiment).order_by(Experiment.id)))


def rewind(context: Context, moment: datetime) -> None:
    with transaction(context.engine) as db:
        db.execute(update(Schedule).values(next_at=moment))


def end_runs(context: Context) -> None:
    with transaction(context.engine) as db:
        for run in db.scalars(select(Run).where(Run.state == State.QUEUED)).all():
            for state in (*TO_RUNNING, State.DONE):
                move(db, run, state)


def test_a_start_makes_one_experiment_with_the_owner_of_the_schedule(context: Context) -> None:
    add(context)
    schedule(context)
    schedule(context)
    (made,) = experiments(context)
    assert (made.name, made.owner) == ("nightly", "ada")
    (start,) = starts(context)
    assert (start.status, start.experiment_id) == (StartStatus.CREATED, made.id)


def test_a_clock_that_is_set_back_starts_nothing_twice(context: Context) -> None:
    """Forces the fault: the next moment is one that was started before."""
    moment = last_minute()
    add(context, next_at=moment)
    schedule(context)
    for _ in range(3):
        rewind(context, moment)
        schedule(context)
    assert len(experiments(context)) == len(starts(context))
    assert len({start.key for start in starts(context)}) == len(starts(context))


def test_eight_workers_make_one_experiment_of_each_start(context: Context) -> None:
    begin = last_minute() - timedelta(minutes=10)
    add(context, missed=Missed.RUN_ALL, next_at=begin)
    barrier = threading.Barrier(8)

    def go() -> None:
        barrier.wait()
        schedule(context)

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    schedule(context)
    assert len(experiments(context)) == len(starts(context)) >= 11


def test_a_paused_schedule_starts_nothing_and_makes_up_for_it_later(context: Context) -> None:
    id_ = add(context, next_at=last_minute() - timedelta(hours=1))
    with transaction(context.engine) as db:
        locked = schedules.lock(db, id_)
        assert locked is not None
        schedules.pause(locked)
    schedule(context)
    assert starts(context) == []
    with transaction(context.engine) as db:
        locked = schedules.lock(db, id_)
        assert locked is not None
        schedules.resume(locked)
    schedule(context)
    assert len(experiments(context)) == 1
    skipped = [start for start in starts(context) if start.status is StartStatus.SKIPPED]
    assert [start.message for start in skipped] == ["missed, with 59 or more before"]


def test_with_skip_a_start_is_left_out_while_the_last_experiment_goes_on(context: Context) -> None:
    add(context, overlap=Overlap.SKIP, missed=Missed.RUN_ALL, next_at=last_minute() - timedelta(minutes=2))
    schedule(context)
    assert len(experiments(context)) == 1
    assert {start.status for start in starts(context)} == {StartStatus.CREATED, StartStatus.SKIPPED}
    end_runs(context)
    rewind(context, last_minute() - timedelta(days=1))
    schedule(context)
    assert len(experiments(context)) == 2


def test_with_queue_starts_wait_and_follow_each_other(context: Context) -> None:
    add(context, overlap=Overlap.QUEUE, missed=Missed.RUN_ALL, next_at=last_minute() - timedelta(minutes=2))
    schedule(context)
    due = len(starts(context))
    for number in range(1, due + 1):
        assert len(experiments(context)) == number
        schedule(context)
        assert len(experiments(context)) == number, "the last one goes on"
        end_runs(context)
        schedule(context)
    order = [start.experiment_id for start in sorted(starts(context), key=lambda start: start.key)][:due]
    assert order == sorted(order, key=int)


def test_a_spec_that_is_no_longer_valid_is_a_failed_start_with_the_reason(context: Context) -> None:
    """Forces what another version of the service may find: a stored spec with an unknown field."""
    add(context, spec={**SPEC, "unknown": 1})
    schedule(context)
    (start,) = starts(context)
    assert start.status is StartStatus.FAILED
    assert start.message is not None
    assert "unknown" in start.message
    assert experiments(context) == []


def test_a_file_starts_once_per_version_when_it_no_longer_grows(context: Context, tmp_path: Path) -> None:
    worker = replace(context, trigger_folders=[tmp_path])
    file = tmp_path / "incoming" / "today.tar"
    add(worker, cron=None, next_at=None, path=str(file))
    schedule(worker)
    file.parent.mkdir()
    for content in ("a", "ab", "abc"):
        file.write_text(content)
        schedule(worker)
    assert experiments(worker) == [], "each look has seen another version"
    for _ in range(3):
        schedule(worker)
    assert len(experiments(worker)) == 1
    again = replace(worker, memory=type(worker.memory)())
    for _ in range(3):
        schedule(again)
    assert len(experiments(worker)) == 1, "another worker takes the version as taken"
    file.write_text("another")
    for _ in range(3):
        schedule(worker)
    assert len(experiments(worker)) == 2


@pytest.mark.parametrize("fault", ["outside", "link", "folder_link", "folder"])
def test_a_path_that_is_no_file_below_the_allowed_folders_starts_nothing(
    context: Context, tmp_path: Path, fault: str
) -> None:
    allowed, secret = tmp_path / "allowed", tmp_path / "secret"
    allowed.mkdir()
    secret.mkdir()
    (secret / "file").write_text("x")
    path = {"outside": secret / "file", "link": allowed / "l", "folder_link": allowed / "f" / "file"}.get(
        fault, allowed
    )
    (allowed / "l").symlink_to(secret / "file")
    (allowed / "f").symlink_to(secret)
    worker = replace(context, trigger_folders=[allowed, tmp_path / "absent"])
    add(worker, cron=None, next_at=None, path=str(path))
    for _ in range(3):
        schedule(worker)
    assert starts(worker) == []


@pytest.mark.ring("all")
def test_a_worker_killed_at_any_line_leaves_each_start_with_one_experiment(
    sqlite_engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: SIGKILL at each line of the tick that makes the experiments of two starts."""
    monkeypatch.setattr(kill_points, "STARTS", ("schedule.py",))
    context = Context(sqlite_engine, {"local": Local()}, tmp_path / "runs", local_ranks=2)
    begin = last_minute() - timedelta(days=1)
    add(context, missed=Missed.RUN_ALL, cron="0 0 1 1 *", next_at=begin)
    sqlite_engine.dispose()
    before = Path(str(sqlite_engine.url.database))
    points = _points(before, context)
    assert len(points) > 60
    for number, point in enumerate(points):
        after = Path(shutil.copy(before, tmp_path / f"{number}.db"))
        killed = replace(context, engine=engine_for(f"sqlite:///{after}"))
        die_at(point, partial(schedule, killed))
        schedule(killed)
        with snapshot(killed.engine) as db:
            assert db.scalar(select(func.count()).select_from(Experiment)) == 1, point
            assert db.scalar(select(func.count()).select_from(Run)) == 1, point
            (start,) = schedules.starts_of(db, 1, 10)
            assert start.status is StartStatus.CREATED, point
        killed.engine.dispose()
        after.unlink()


def _points(before: Path, context: Context) -> list[str]:
    seen: list[str] = []
    copied = shutil.copy(before, before.with_name("seen.db"))
    other = replace(context, engine=engine_for(f"sqlite:///{copied}"))
    with watched(seen.append):
        schedule(other)
    other.engine.dispose()
    for file in ("schedule.py", "carry_out.py", "schedules.py", "creation.py"):
        assert last_of_lines(seen, (file,)), file
    return last_of_lines(seen, KILLED_IN)
