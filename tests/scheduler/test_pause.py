"""A run that pauses: queued again once its job has ended, with one curve, and no attempt lost or doubled."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from contract.folder.events import Failed, Finished, Paused, Points, Resumed, Started
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.reason import RetriesExhausted, RunPaused
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Alive, gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.cancel import cancel
from scheduler.ticks.ingest import ingest
from scheduler.ticks.reap import reap
from store import runs
from store.lifecycle import creation
from store.metrics import curves, restarts
from store.session import snapshot, transaction
from store.tables.runs import Move, Run
from tests.testing.clusters import Puppet
from tests.testing.events import report
from tests.testing.runs import job_of, read, sentence
from tests.testing.specs import Experiment

GONE = gone(EndKind.EXITED, exit_code=4)
REASON = "SIGTERM to rank 1 on h"


def started(attempt: int) -> Started:
    return Started(attempt=attempt, at=0.0, world=2, hosts=["h", "h"], device="cpu", steps=4, versions={})


def points_at(attempt: int, step: int, seconds: float = 1.0) -> Points:
    return Points(attempt=attempt, at=0.0, step=step, values={"loss": 1.0 / step, "compute_s": seconds})


def paused(attempt: int, step: int) -> Paused:
    return Paused(attempt=attempt, at=0.0, step=step, saved_step=step, reason=REASON)


@pytest.fixture
def run_id(context: Context, run_ids: list[int]) -> int:
    submit_queued(context)
    return run_ids[0]


def moves(context: Context, run_id: int) -> list[str]:
    with snapshot(context.engine) as db:
        return list(db.scalars(select(Move.new).where(Move.run_id == run_id).order_by(Move.id)))


def test_a_paused_run_is_queued_again_only_when_its_job_has_ended(
    context: Context, puppet: Puppet, run_id: int
) -> None:
    report(context, run_id, started(1), points_at(1, 1), points_at(1, 2), paused(1, 2))
    ingest(context)
    submit_queued(context)
    run = read(context, run_id)
    assert (run.state, run.attempt, sentence(run)) == (State.PAUSED, 1, f"paused at step 2: {REASON}")
    puppet.answers["job1"] = GONE
    ingest(context)
    assert read(context, run_id).state == State.QUEUED
    submit_queued(context)
    run = read(context, run_id)
    assert (run.state, run.attempt, job_of(context, run_id).is_gone) == (State.PENDING, 2, False)


def test_a_pause_and_the_end_of_the_job_that_are_read_together_are_both_in_the_history(
    context: Context, puppet: Puppet, run_id: int
) -> None:
    report(context, run_id, started(1), points_at(1, 1), paused(1, 1))
    puppet.answers["job1"] = GONE
    ingest(context)
    assert moves(context, run_id)[-3:] == ["running", "paused", "queued"]


@pytest.mark.ring("all")
def test_a_resumed_run_has_one_curve_and_its_restart_is_marked(context: Context, puppet: Puppet, run_id: int) -> None:
    """The first attempt reports steps 2 and 3 after its checkpoint; the second attempt repeats these steps."""
    report(context, run_id, started(1), points_at(1, 1), points_at(1, 2), points_at(1, 3), paused(1, 3))
    puppet.answers["job1"] = GONE
    ingest(context)
    submit_queued(context)
    first_start = read(context, run_id).started_at
    resumed = Resumed(attempt=2, at=5.0, step=1, lost_steps=2)
    report(context, run_id, started(2), resumed, points_at(2, 2, 9.0), points_at(2, 3, 9.0), points_at(2, 4, 9.0))
    report(context, run_id, Finished(attempt=2, at=6.0, step=4))
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.step, run.started_at) == (State.DONE, 4, first_start)
    with snapshot(context.engine) as db:
        columns, _ = curves.of_run(db, run_id, ["loss", "compute_s"], after=-1, limit=100)
        marks = [(mark.attempt, mark.step, mark.lost_steps) for mark in restarts.of_run(db, run_id)]
    assert columns["loss"] == ([1, 2, 3, 4], [1.0, 1 / 2, 1 / 3, 1 / 4])
    assert columns["compute_s"][1] == [1.0, 9.0, 9.0, 9.0], "the points of the last attempt count"
    assert marks == [(2, 1, 2)]


@pytest.mark.parametrize("event", [Finished(attempt=1, at=2.0, step=4), Failed(attempt=1, at=2.0, rank=0, reason="no")])
def test_repeated_lines_count_once_and_a_paused_run_waits_for_its_job(
    context: Context, puppet: Puppet, experiment: Experiment, event: Finished | Failed
) -> None:
    """Forces the fault: a shared file system repeats appended lines, and a rank fails while all ranks leave."""
    with transaction(context.engine) as db:
        (run_id,) = creation.create(db, experiment(retries={"failure": 3}))[1]
    submit_queued(context)
    resumed, last = Resumed(attempt=1, at=0.0, step=1, lost_steps=2), Failed(attempt=1, at=1.0, rank=1, reason="no")
    for repeated in (started(1), resumed, points_at(1, 2), paused(1, 2), last, event):
        report(context, run_id, repeated, repeated)
    ingest(context)
    assert moves(context, run_id)[-2:] == ["running", "paused"]
    puppet.answers["job1"] = GONE
    ingest(context)
    assert (read(context, run_id).state, read(context, run_id).step) == (State.QUEUED, 2)
    with snapshot(context.engine) as db:
        assert [(mark.attempt, mark.step) for mark in restarts.of_run(db, run_id)] == [(1, 1)]


def test_a_failure_that_is_reported_twice_is_retried_once_after_the_end_of_its_job(
    context: Context, puppet: Puppet, experiment: Experiment
) -> None:
    """Forces the fault: the second line would queue the run again while its job is alive."""
    with transaction(context.engine) as db:
        (run_id,) = creation.create(db, experiment(retries={"failure": 3}))[1]
    submit_queued(context)
    last = Failed(attempt=1, at=1.0, rank=1, reason="no")
    report(context, run_id, started(1), last, last)
    ingest(context)
    report(context, run_id, last)
    ingest(context)
    assert moves(context, run_id)[-2:] == ["running", "paused"]
    puppet.answers["job1"] = GONE
    ingest(context)
    assert moves(context, run_id)[-2:] == ["paused", "queued"]


def test_a_pause_of_an_earlier_attempt_changes_no_state(context: Context, puppet: Puppet, run_id: int) -> None:
    """Forces the fault: the pause of the first attempt becomes visible when the second attempt trains."""
    report(context, run_id, started(1), paused(1, 0))
    puppet.answers["job1"] = GONE
    ingest(context)
    submit_queued(context)
    report(context, run_id, started(2), paused(1, 0))
    ingest(context)
    assert (read(context, run_id).state, read(context, run_id).attempt) == (State.RUNNING, 2)


def test_a_stop_request_before_the_pause_cancels_the_run(context: Context, puppet: Puppet, run_id: int) -> None:
    report(context, run_id, started(1), points_at(1, 1))
    ingest(context)
    request_stop(context, run_id)
    cancel(context)
    report(context, run_id, paused(1, 1))
    ingest(context)
    assert (read(context, run_id).state, sentence(read(context, run_id))) == (State.CANCELLED, "stopped on request")


def test_a_stop_request_during_the_pause_cancels_the_run(context: Context, puppet: Puppet, run_id: int) -> None:
    report(context, run_id, started(1), paused(1, 1))
    ingest(context)
    request_stop(context, run_id)
    puppet.answers["job1"] = GONE
    ingest(context)
    assert read(context, run_id).state == State.CANCELLED


def request_stop(context: Context, run_id: int) -> None:
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id == run_id)


def test_the_job_of_a_paused_run_that_does_not_end_is_ended(
    context: Context, puppet: Puppet, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the ranks hang after their report, for longer than the grace time."""
    report(context, run_id, started(1), paused(1, 1))
    ingest(context)
    monkeypatch.setattr("scheduler.ticks.reap.GRACE", timedelta(0))
    puppet.answers["job1"] = Alive()
    reap(context)
    assert puppet.cancelled == [("job1", False)]


def test_a_run_whose_every_attempt_pauses_fails_in_the_end(
    context: Context, puppet: Puppet, experiment: Experiment
) -> None:
    """Forces the fault: a signal ends every attempt."""
    with transaction(context.engine) as db:
        (run_id,) = creation.create(db, experiment(retries={"preempted": 2}))[1]
    submit_queued(context)
    for attempt in (1, 2, 3):
        report(context, run_id, started(attempt), paused(attempt, 1))
        job = job_of(context, run_id).external_id
        assert job is not None
        puppet.answers[job] = GONE
        ingest(context)
        submit_queued(context)
    run = read(context, run_id)
    assert run.state == State.FAILED
    assert isinstance(run.reason, RetriesExhausted)
    assert isinstance(run.reason.after, RunPaused)
    paused_at_1 = RunPaused(step=1, message=REASON, cause=ExitCause.PREEMPTED, trained_s=run.reason.after.trained_s)
    assert run.reason == RetriesExhausted(after=paused_at_1, cause=ExitCause.PREEMPTED, retries=2)
