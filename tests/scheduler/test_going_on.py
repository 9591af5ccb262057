"""Ended runs that are asked to go on: never two jobs of a run, late reports decide nothing, and retries begin anew."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from contract.folder.events import Failed, Finished, Points
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.reason import Retried, RetryRequested
from contract.lifecycle.state import State
from scheduler.clusters.cluster import gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.cancel import cancel
from scheduler.ticks.ingest import ingest
from scheduler.ticks.poll import poll
from scheduler.ticks.reap import reap
from store import runs, submissions
from store.lifecycle import creation
from store.lifecycle.going_on import RetriedRuns, retry
from store.metrics.interruptions import observed
from store.metrics.retention import remove_points, remove_waits
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Move, Run
from tests.testing.clusters import Far, Puppet
from tests.testing.events import STARTED, report
from tests.testing.runs import job_of, poll_now, read
from tests.testing.specs import Experiment

BOTH = (State.FAILED, State.CANCELLED)
LOST = gone(EndKind.PROCESS_GONE)


def ask(context: Context, *run_ids: int) -> RetriedRuns:
    with transaction(context.engine) as db:
        return retry(db, Run.id.in_(run_ids), BOTH, by="ada")


@pytest.fixture
def run_id(context: Context, experiment: Experiment) -> int:
    """A run whose first attempt trains."""
    with transaction(context.engine) as db:
        (run_id,) = creation.create(db, experiment())[1]
    submit_queued(context)
    report(context, run_id, STARTED, Points(attempt=1, at=1.0, step=1, values={"loss": 1.0}))
    ingest(context)
    return run_id


def fail(context: Context, run_id: int, attempt: int = 1) -> None:
    report(context, run_id, Failed(attempt=attempt, at=2.0, rank=0, reason="no"))
    ingest(context)
    assert read(context, run_id).state is State.FAILED


def test_a_retried_run_is_submitted_when_its_last_job_has_left(context: Context, puppet: Puppet, run_id: int) -> None:
    """Forces the fault: the job of a failed run lives on."""
    fail(context, run_id)
    assert ask(context, run_id) == RetriedRuns([run_id], [run_id], [])
    for _ in range(2):
        submit_queued(context)
        reap(context)
    assert (list(puppet.jobs), read(context, run_id).state) == (["job1"], State.QUEUED)
    puppet.answers["job1"] = LOST
    reap(context)
    submit_queued(context)
    run = read(context, run_id)
    assert (run.state, run.attempt, list(puppet.jobs)) == (State.PENDING, 2, ["job1", "job2"])


def test_a_job_that_ignores_its_stop_is_ended_while_the_retry_waits(
    context: Context, puppet: Puppet, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: a stop hangs, the run ends, and somebody asks for a retry."""
    fail(context, run_id)
    ask(context, run_id)
    monkeypatch.setattr("scheduler.ticks.reap.GRACE", timedelta(0))
    monkeypatch.setattr("scheduler.ticks.reap.KILL_AFTER", timedelta(0))
    puppet.cancelled.clear()
    reap(context)
    reap(context)
    assert puppet.cancelled[-1] == ("job1", True)
    submit_queued(context)
    assert list(puppet.jobs) == ["job1"]


def test_the_poll_asks_about_the_job_that_a_retry_waits_for(far_context: Context, far: Far, far_run_id: int) -> None:
    context = far_context
    report(context, far_run_id, STARTED, Failed(attempt=1, at=2.0, rank=0, reason="no"))
    ingest(context)
    assert ask(context, far_run_id).waiting == [far_run_id]
    submit_queued(context)
    assert len(far.jobs) == 1
    far.answers[str(job_of(context, far_run_id).external_id)] = gone(EndKind.FAILED)
    poll_now(context)
    assert job_of(context, far_run_id).is_gone
    submit_queued(context)
    assert len(far.jobs) == 2
    poll(context)


def test_late_events_of_the_old_attempt_decide_nothing(context: Context, puppet: Puppet, run_id: int) -> None:
    """Forces the fault: the job of a failed run goes on and reports its end, also after the next attempt began."""
    fail(context, run_id)
    ask(context, run_id)
    report(
        context, run_id, Points(attempt=1, at=3.0, step=2, values={"loss": 0.5}), Finished(attempt=1, at=3.0, step=4)
    )
    ingest(context)
    assert read(context, run_id).state is State.QUEUED
    puppet.answers["job1"] = LOST
    reap(context)
    submit_queued(context)
    report(context, run_id, Finished(attempt=1, at=4.0, step=4), STARTED.model_copy(update={"attempt": 2}))
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.attempt, run.step, run.latest) == (State.RUNNING, 2, 2, {"loss": 0.5})
    report(context, run_id, Finished(attempt=2, at=5.0, step=4))
    ingest(context)
    assert read(context, run_id).state is State.DONE


def test_all_retries_begin_anew(context: Context, puppet: Puppet, experiment: Experiment) -> None:
    with transaction(context.engine) as db:
        (run_id,) = creation.create(db, experiment(retries={"failure": 1, "backoff_s": 0.0}))[1]
    states = []
    for attempt in range(1, 5):
        submit_queued(context)
        report(context, run_id, STARTED.model_copy(update={"attempt": attempt}))
        report(context, run_id, Failed(attempt=attempt, at=2.0, rank=0, reason="no"))
        ingest(context)
        puppet.answers[f"job{attempt}"] = LOST
        ingest(context)
        reap(context)
        run = read(context, run_id)
        states.append(run.state)
        if run.state is State.FAILED:
            ask(context, run_id)
    assert states == [State.QUEUED, State.FAILED, State.QUEUED, State.FAILED]
    with snapshot(context.engine) as db:
        run = db.get_one(Run, run_id)
        retried = [job.exit_cause for job in run.jobs]
    assert (run.retries_after, retried) == (4, [ExitCause.FAILURE] * 4)


def test_the_wait_after_returns_begins_anew(context: Context, run_id: int) -> None:
    fail(context, run_id)
    ask(context, run_id)
    with snapshot(context.engine) as db:
        assert submissions.count_returns(db, run_id) == 0


def test_a_retried_run_can_be_stopped_while_it_waits(context: Context, puppet: Puppet, run_id: int) -> None:
    fail(context, run_id)
    ask(context, run_id)
    with transaction(context.engine) as db:
        assert runs.request_stop(db, Run.id == run_id) == 1
    cancel(context)
    run = read(context, run_id)
    assert (run.state, run.ended_at is not None) == (State.CANCELLED, True)
    assert ask(context, run_id).queued == [run_id]
    assert read(context, run_id).stop_requested_at is None


def test_two_requests_at_once_make_one_attempt(context: Context, puppet: Puppet, run_id: int) -> None:
    fail(context, run_id)
    puppet.answers["job1"] = LOST
    reap(context)
    assert [ask(context, run_id).queued for _ in range(3)] == [[run_id], [], []]
    submit_queued(context)
    submit_queued(context)
    assert len(puppet.jobs) == 2


@pytest.mark.ring("all")
def test_removals_of_an_old_run_apply_again_after_its_retry(context: Context, puppet: Puppet, run_id: int) -> None:
    fail(context, run_id)
    later = now() + timedelta(seconds=5)
    with transaction(context.engine) as db:
        remove_points(db, later, 100)
        remove_waits(db, later)
    ask(context, run_id)
    run = read(context, run_id)
    assert (run.points_removed_at, run.history_removed_at) == (None, None)
    assert run.reason == RetryRequested(by="ada", points_removed=True)
    puppet.answers["job1"] = LOST
    reap(context)
    submit_queued(context)
    report(context, run_id, STARTED.model_copy(update={"attempt": 2}))
    ingest(context)
    with transaction(context.engine) as db:
        assert not remove_points(db, later, 100)
    fail(context, run_id, attempt=2)
    with transaction(context.engine) as db:
        assert remove_points(db, now() + timedelta(seconds=5), 100)
        remove_waits(db, now() + timedelta(seconds=5))
        (history,) = observed(db, 1, interval_s=None)
    assert history.trained_s < 600
    with snapshot(context.engine) as db:
        moves = list(db.scalars(select(Move.new).where(Move.run_id == run_id).order_by(Move.id)))
    assert moves == [State.RUNNING, State.FAILED, State.QUEUED, State.RUNNING, State.FAILED]


def test_a_retry_by_the_service_itself_is_never_made_of_an_ended_run(
    context: Context, puppet: Puppet, run_id: int
) -> None:
    fail(context, run_id)
    puppet.answers["job1"] = LOST
    ingest(context)
    run = read(context, run_id)
    assert run.state is State.FAILED
    assert not isinstance(run.reason, Retried)
