"""A run that pauses: queued again once its job has left, with one curve, and no attempt lost or doubled."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from contract.folder.events import Failed, Finished, Paused, Points, Resumed, Started
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Alive, Gone
from scheduler.context import Site
from scheduler.submit.submission import launch
from scheduler.ticks.cancel import stop
from scheduler.ticks.ingest import collect
from scheduler.ticks.reap import sweep
from store import runs
from store.metrics import points, restarts
from store.session import snapshot, transaction
from store.tables import Move, Run
from tests.conftest import Experiment
from tests.scheduler.conftest import Puppet, read, say

GONE = Gone("exit code 4")
REASON = "SIGTERM to rank 1 on h"


def started(attempt: int) -> Started:
    return Started(attempt=attempt, at=0.0, world=2, hosts=["h", "h"], device="cpu", steps=4, versions={})


def told(attempt: int, step: int, seconds: float = 1.0) -> Points:
    return Points(attempt=attempt, at=0.0, step=step, values={"loss": 1.0 / step, "compute_s": seconds})


def paused(attempt: int, step: int) -> Paused:
    return Paused(attempt=attempt, at=0.0, step=step, saved_step=step, reason=REASON)


@pytest.fixture
def run_id(site: Site, run_ids: list[int]) -> int:
    launch(site)
    return run_ids[0]


def moves(site: Site, run_id: int) -> list[str]:
    with snapshot(site.engine) as db:
        return list(db.scalars(select(Move.new).where(Move.run_id == run_id).order_by(Move.id)))


def test_a_paused_run_is_queued_again_only_when_its_job_has_left(site: Site, puppet: Puppet, run_id: int) -> None:
    say(site, run_id, started(1), told(1, 1), told(1, 2), paused(1, 2))
    collect(site)
    launch(site)
    run = read(site, run_id)
    assert (run.state, run.attempt, run.reason) == (State.PAUSED, 1, f"paused at step 2: {REASON}")
    puppet.answers["job1"] = GONE
    collect(site)
    assert read(site, run_id).state == State.QUEUED
    launch(site)
    run = read(site, run_id)
    assert (run.state, run.attempt, run.job_gone) == (State.PENDING, 2, False)


def test_a_pause_and_the_job_s_end_seen_at_once_are_both_in_the_story(site: Site, puppet: Puppet, run_id: int) -> None:
    say(site, run_id, started(1), told(1, 1), paused(1, 1))
    puppet.answers["job1"] = GONE
    collect(site)
    assert moves(site, run_id)[-3:] == ["running", "paused", "queued"]


def test_a_resumed_run_has_one_curve_and_its_restart_is_marked(site: Site, puppet: Puppet, run_id: int) -> None:
    """The first attempt told steps 2 and 3 beyond its checkpoint; the second tells them again."""
    say(site, run_id, started(1), told(1, 1), told(1, 2), told(1, 3), paused(1, 3))
    puppet.answers["job1"] = GONE
    collect(site)
    launch(site)
    first_start = read(site, run_id).started_at
    resumed = Resumed(attempt=2, at=5.0, step=1, lost_steps=2)
    say(site, run_id, started(2), resumed, told(2, 2, 9.0), told(2, 3, 9.0), told(2, 4, 9.0))
    say(site, run_id, Finished(attempt=2, at=6.0, step=4))
    collect(site)
    run = read(site, run_id)
    assert (run.state, run.step, run.started_at) == (State.DONE, 4, first_start)
    with snapshot(site.engine) as db:
        columns, _ = points.of_run(db, run_id, ["loss", "compute_s"], after=-1, limit=100)
        marks = [(mark.attempt, mark.step, mark.lost_steps) for mark in restarts.of_run(db, run_id)]
    assert columns["loss"] == ([1, 2, 3, 4], [1.0, 1 / 2, 1 / 3, 1 / 4])
    assert columns["compute_s"][1] == [1.0, 9.0, 9.0, 9.0], "the last attempt's word counts"
    assert marks == [(2, 1, 2)]


@pytest.mark.parametrize("word", [Finished(attempt=1, at=2.0, step=4), Failed(attempt=1, at=2.0, rank=0, reason="no")])
def test_lines_told_twice_count_once_and_a_paused_run_waits_for_its_job_whatever_it_says(
    site: Site, puppet: Puppet, experiment: Experiment, word: Finished | Failed
) -> None:
    """Forces the fault: a shared file system repeats what was appended, and a rank falls while all leave."""
    with transaction(site.engine) as db:
        (run_id,) = runs.create(db, experiment(retries={"failure": 3}))[1]
    launch(site)
    resumed, last = Resumed(attempt=1, at=0.0, step=1, lost_steps=2), Failed(attempt=1, at=1.0, rank=1, reason="no")
    for event in (started(1), resumed, told(1, 2), paused(1, 2), last, word):
        say(site, run_id, event, event)
    collect(site)
    assert moves(site, run_id)[-2:] == ["running", "paused"]
    puppet.answers["job1"] = GONE
    collect(site)
    assert (read(site, run_id).state, read(site, run_id).step) == (State.QUEUED, 2)
    with snapshot(site.engine) as db:
        assert [(mark.attempt, mark.step) for mark in restarts.of_run(db, run_id)] == [(1, 1)]


def test_a_failure_told_twice_is_tried_again_once_and_only_when_its_job_has_left(
    site: Site, puppet: Puppet, experiment: Experiment
) -> None:
    """Forces the fault: the second line would queue the run again beside its job, which still lives."""
    with transaction(site.engine) as db:
        (run_id,) = runs.create(db, experiment(retries={"failure": 3}))[1]
    launch(site)
    last = Failed(attempt=1, at=1.0, rank=1, reason="no")
    say(site, run_id, started(1), last, last)
    collect(site)
    say(site, run_id, last)
    collect(site)
    assert moves(site, run_id)[-2:] == ["running", "paused"]
    puppet.answers["job1"] = GONE
    collect(site)
    assert moves(site, run_id)[-2:] == ["paused", "queued"]


def test_a_pause_of_an_earlier_attempt_moves_nothing(site: Site, puppet: Puppet, run_id: int) -> None:
    """Forces the fault: the first attempt's last word comes late, when the second has begun."""
    say(site, run_id, started(1), paused(1, 0))
    puppet.answers["job1"] = GONE
    collect(site)
    launch(site)
    say(site, run_id, started(2), paused(1, 0))
    collect(site)
    assert (read(site, run_id).state, read(site, run_id).attempt) == (State.RUNNING, 2)


def test_a_stop_wished_before_the_pause_cancels_the_run(site: Site, puppet: Puppet, run_id: int) -> None:
    say(site, run_id, started(1), told(1, 1))
    collect(site)
    wish_stop(site, run_id)
    stop(site)
    say(site, run_id, paused(1, 1))
    collect(site)
    assert (read(site, run_id).state, read(site, run_id).reason) == (State.CANCELLED, "stopped on request")


def test_a_stop_wished_during_the_pause_cancels_the_run(site: Site, puppet: Puppet, run_id: int) -> None:
    say(site, run_id, started(1), paused(1, 1))
    collect(site)
    wish_stop(site, run_id)
    puppet.answers["job1"] = GONE
    collect(site)
    assert read(site, run_id).state == State.CANCELLED


def wish_stop(site: Site, run_id: int) -> None:
    with transaction(site.engine) as db:
        runs.want_stop(db, Run.id == run_id)


def test_a_paused_job_that_does_not_leave_is_ended(
    site: Site, puppet: Puppet, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the ranks hang after their last word, for longer than they may."""
    say(site, run_id, started(1), paused(1, 1))
    collect(site)
    monkeypatch.setattr("scheduler.ticks.reap.GRACE", timedelta(0))
    puppet.answers["job1"] = Alive()
    sweep(site)
    assert puppet.cancelled == [("job1", False)]


def test_a_run_that_only_ever_pauses_comes_to_an_end(site: Site, puppet: Puppet, experiment: Experiment) -> None:
    """Forces the fault: a signal ends every attempt."""
    with transaction(site.engine) as db:
        (run_id,) = runs.create(db, experiment(retries={"preempted": 2}))[1]
    launch(site)
    for attempt in (1, 2, 3):
        say(site, run_id, started(attempt), paused(attempt, 1))
        job = read(site, run_id).job_id
        assert job is not None
        puppet.answers[job] = GONE
        collect(site)
        launch(site)
    run = read(site, run_id)
    assert run.state == State.FAILED
    assert run.reason == "paused at step 1: SIGTERM to rank 1 on h; it was tried again 2 times after preempted, no more"
