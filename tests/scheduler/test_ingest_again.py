"""Runs that report are read again within a tick, so that their points are soon on a page; others are not."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine

from contract.folder.events import Event, Finished, Points
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.state import State
from scheduler.clusters.cluster import gone
from scheduler.context import Context
from scheduler.events.read_report import read_report
from scheduler.submit.submission import submit_queued
from scheduler.ticks import ingest as tick
from scheduler.ticks.ingest import TICK_S, ingest, ingest_and_follow
from tests.testing.clusters import Puppet
from tests.testing.events import STARTED, report
from tests.testing.runs import job_of, read


class Clock:
    """The tick's clock: a pause takes no time, and a test may act in it."""

    def __init__(self) -> None:
        self.now, self.pauses = 0.0, list[float]()
        self.in_pause: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        self.in_pause()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(tick, "time", clock)
    return clock


@pytest.fixture
def run_id(context: Context, run_ids: list[int], engine: Engine) -> int:
    """A run that trains."""
    submit_queued(context)
    report(context, run_ids[0], STARTED)
    ingest(context)
    assert read(context, run_ids[0]).state is State.RUNNING
    return run_ids[0]


def point(step: int) -> Event:
    return Points(attempt=1, at=0.0, step=step, values={"loss": 1.0})


def test_a_run_that_reports_is_read_again_until_the_next_tick(context: Context, run_id: int, clock: Clock) -> None:
    steps = iter(range(2, 10))
    stored = list[int]()

    def train() -> None:
        stored.append(read(context, run_id).step)
        report(context, run_id, point(next(steps)))

    clock.in_pause = train
    report(context, run_id, point(1))
    ingest_and_follow(context)
    assert stored == [1, 2]
    assert read(context, run_id).step == 3
    assert clock.now < TICK_S


def test_a_service_at_rest_reads_once_in_a_tick(context: Context, run_id: int, clock: Clock) -> None:
    ingest_and_follow(context)
    assert clock.pauses == []


def test_a_run_that_ends_meanwhile_ends(context: Context, run_id: int, clock: Clock) -> None:
    clock.in_pause = lambda: report(context, run_id, Finished(attempt=1, at=1.0, step=4))
    report(context, run_id, point(1))
    ingest_and_follow(context)
    assert read(context, run_id).state is State.DONE
    assert len(clock.pauses) == 1, "an ended run is not followed"


def test_a_job_that_is_gone_is_left_to_the_next_tick(
    context: Context, run_id: int, clock: Clock, puppet: Puppet
) -> None:
    """Forces the order: the job ends between two reads of a tick, and its last lines come after that."""
    job_id = str(job_of(context, run_id).external_id)

    def end_without_a_report() -> None:
        puppet.answers[job_id] = gone(EndKind.EXITED, exit_code=1)

    clock.in_pause = end_without_a_report
    report(context, run_id, point(1))
    ingest_and_follow(context)
    assert read(context, run_id).state is State.RUNNING
    report(context, run_id, point(2), Finished(attempt=1, at=1.0, step=2))
    ingest_and_follow(context)
    assert (read(context, run_id).state, read(context, run_id).step) == (State.DONE, 2)


def test_reads_that_take_long_are_not_repeated(
    context: Context, run_id: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces slow reads: the tick must end before the next one begins."""
    read_one = read_report

    def slow(*arguments: Any) -> object:
        clock.now += 0.3
        return read_one(*arguments)

    monkeypatch.setattr(tick, "read_report", slow)
    report(context, run_id, point(1))
    ingest_and_follow(context)
    assert clock.pauses == []


def test_a_tick_that_takes_longer_than_its_period_does_the_work_of_the_one_that_was_left_out(
    context: Context, run_id: int, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a slow second read: it ends after the next tick should have begun."""
    steps = iter(range(2, 10))
    read_again = tick._read_again

    def slow(*arguments: Any) -> object:
        found = read_again(*arguments)
        clock.now += 1.0
        report(context, run_id, point(next(steps)))
        return found

    monkeypatch.setattr(tick, "_read_again", slow)
    report(context, run_id, point(1))
    ingest_and_follow(context)
    assert read(context, run_id).step == 2
