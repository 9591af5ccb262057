"""The clock sends every tick at its pace while there is work, and few of them at rest."""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from celery.beat import ScheduleEntry, Scheduler
from celery.schedules import schedule
from sqlalchemy import Engine, update
from sqlalchemy.exc import OperationalError

from contract.lifecycle.schedule import Missed, Overlap
from contract.lifecycle.state import State
from contract.settings import Settings
from scheduler.app import make_app
from scheduler.clock import AWAKE_S, LOOK_S, REST_S, Activity, Clock
from scheduler.context import Context
from store import changes
from store.lifecycle import creation
from store.schedules import add_schedule
from store.session import transaction
from store.tables.base import now
from store.tables.notify import NotifyDelivery
from store.tables.runs import Job
from store.tables.schedules import Schedule
from tests.testing.runs import move, start_job
from tests.testing.specs import Experiment

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Seconds:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def activity(engine: Engine, seconds: Seconds) -> Activity:
    return Activity(lambda: engine, seconds)


def rest(activity: Activity, seconds: Seconds) -> None:
    """Move the clock until the last change is forgotten."""
    activity.has_work()
    seconds.now += AWAKE_S + LOOK_S
    assert not activity.has_work()


def end_all(context: Context, run_ids: list[int]) -> None:
    """End the runs and their jobs."""
    with transaction(context.engine) as db:
        for run_id in run_ids:
            move(db, start_job(db, run_id), State.DONE)
        db.execute(update(Job).values(is_gone=True))


def test_a_new_experiment_ends_the_rest_at_the_next_look(
    context: Context, activity: Activity, seconds: Seconds, experiment: Experiment
) -> None:
    rest(activity, seconds)
    with transaction(context.engine) as db:
        creation.create(db, experiment())
    seconds.now += LOOK_S / 2
    assert not activity.has_work(), "the database is read at most so often"
    seconds.now += 2 * LOOK_S
    assert activity.has_work()
    seconds.now += 100 * AWAKE_S
    assert activity.has_work(), "a run waits in the queue"


def test_a_change_alone_wakes_the_ticks_for_a_while(
    context: Context, run_ids: list[int], activity: Activity, seconds: Seconds
) -> None:
    end_all(context, run_ids)
    rest(activity, seconds)
    with transaction(context.engine) as db:
        changes.record_runs(db, run_ids[:1])
    seconds.now += 2 * LOOK_S
    assert activity.has_work()
    rest(activity, seconds)


def test_a_job_that_the_cluster_still_has_needs_the_ticks(
    context: Context, run_ids: list[int], activity: Activity, seconds: Seconds
) -> None:
    """Forces the case: the runs have ended, and the cluster still has a job of theirs."""
    end_all(context, run_ids)
    with transaction(context.engine) as db:
        db.execute(update(Job).where(Job.run_id == run_ids[0]).values(is_gone=False))
    activity.has_work()
    seconds.now += 2 * AWAKE_S
    assert activity.has_work()
    with transaction(context.engine) as db:
        db.execute(update(Job).values(is_gone=True))
    rest(activity, seconds)


def test_a_message_that_is_due_wakes_the_ticks_and_one_that_waits_does_not(
    context: Context, activity: Activity, seconds: Seconds
) -> None:
    """A receiver may be down for a day: only the moments of its attempts end the rest."""
    rest(activity, seconds)
    with transaction(context.engine) as db:
        delivery = NotifyDelivery(key="k", target_id=1, target_name="x", event="test", title="x", body={})
        db.add(delivery)
    seconds.now += 2 * LOOK_S
    assert activity.has_work()
    with transaction(context.engine) as db:
        db.execute(update(NotifyDelivery).values(not_before=now() + timedelta(hours=1)))
    seconds.now += 2 * LOOK_S
    assert not activity.has_work()


def test_a_schedule_whose_moment_has_come_wakes_the_ticks(
    context: Context, activity: Activity, seconds: Seconds
) -> None:
    moment = now() + timedelta(hours=1)
    fields = {"name": "nightly", "spec": {}, "cron": "* * * * *", "time_zone": "UTC", "path": None}
    with transaction(context.engine) as db:
        add_schedule(db, [], **fields, missed=Missed.SKIP, overlap=Overlap.SKIP, next_at=moment)
    rest(activity, seconds)
    with transaction(context.engine) as db:
        db.execute(update(Schedule).values(next_at=now()))
    seconds.now += 2 * LOOK_S
    assert activity.has_work()
    with transaction(context.engine) as db:
        db.execute(update(Schedule).values(paused_at=now()))
    seconds.now += 2 * LOOK_S
    assert not activity.has_work()


def test_without_a_database_every_tick_is_sent(seconds: Seconds) -> None:
    """Forces the fault: the database does not answer."""

    def absent() -> Engine:
        raise OperationalError("select", {}, ConnectionError("no"))

    activity = Activity(absent, seconds)
    seconds.now += 10 * AWAKE_S
    assert activity.has_work()


class Known(Activity):
    """An activity that is known to the test."""

    def __init__(self, *, has_work: bool) -> None:
        self.known = has_work

    def has_work(self) -> bool:
        return self.known


def carry_out(clock: Clock, seconds: Seconds, until: float) -> None:
    """Call the clock as beat's loop does."""
    while seconds.now < until:
        seconds.now += max(clock.tick(), 0.001)  # less than a microsecond would not move the schedule's own time


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the ticks that were sent."""
    names: list[str] = []
    monkeypatch.setattr(Scheduler, "apply_entry", lambda _, entry, producer=None: names.append(entry.name))
    return names


def make_clock(activity: Activity, seconds: Seconds) -> Clock:
    """Return a clock with a tick each half a second and one each two seconds, both due at once."""
    app = make_app(Settings(slurm=False))
    app.conf.beat_schedule = {}
    made = Clock(app, lazy=True, activity=activity, clock=seconds)

    def present() -> datetime:
        return BEGIN + timedelta(seconds=seconds.now)

    for name, period_s in {"launch": 0.5, "poll": 2.0}.items():
        paces = schedule(timedelta(seconds=period_s), nowfun=present, app=app)
        last = BEGIN - timedelta(seconds=period_s)
        made.schedule[name] = ScheduleEntry(name, f"bigbatch.{name}", last, schedule=paces, app=app)
    return made


def test_at_rest_all_ticks_are_sent_once_in_a_while(seconds: Seconds, sent: list[str]) -> None:
    clock = make_clock(Known(has_work=False), seconds)
    carry_out(clock, seconds, REST_S - 2 * LOOK_S)
    assert sorted(sent) == ["launch", "poll"]
    carry_out(clock, seconds, REST_S + 2 * LOOK_S)
    assert sorted(sent) == ["launch", "launch", "poll", "poll"]


def test_with_work_each_tick_is_sent_at_its_pace(seconds: Seconds, sent: list[str]) -> None:
    carry_out(make_clock(Known(has_work=True), seconds), seconds, 9.9)
    assert abs(sent.count("launch") - 20) <= 1
    assert abs(sent.count("poll") - 5) <= 1


def test_work_ends_the_rest_of_the_clock_at_its_next_look(seconds: Seconds, sent: list[str]) -> None:
    activity = Known(has_work=False)
    clock = make_clock(activity, seconds)
    carry_out(clock, seconds, REST_S / 2)
    activity.known = True
    sent.clear()
    carry_out(clock, seconds, REST_S / 2 + 2 * LOOK_S)
    assert set(sent) == {"launch", "poll"}


def test_beat_makes_this_clock() -> None:
    make: Callable[..., Clock] = make_app(Settings(slurm=False)).conf.beat_scheduler
    assert isinstance(make(make_app(Settings(slurm=False)), lazy=True), Clock)


ENDED_IN_A_FINALIZER = """
import os, signal, sys
from scheduler import __main__, clock

class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)

def has_work(activity, calls=[]):
    if calls:
        os._exit(9)  # the clock went on
    calls.append(Swallows())
    calls[0] = True
    return True

clock.Activity.has_work = has_work
__main__.main(["clock"])
"""


@pytest.mark.ring("all")
def test_a_signal_ends_the_clock_wherever_it_is(tmp_path: Path) -> None:
    """Forces SIGTERM inside a finalizer, where Python ignores an exception of the handler."""
    environment = {**os.environ, "BIGBATCH_HOME": str(tmp_path), "BIGBATCH_SLURM": "false"}
    command = [sys.executable, "-c", ENDED_IN_A_FINALIZER]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 0, ended.stderr
