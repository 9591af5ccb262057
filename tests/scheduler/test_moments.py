"""Moments of runs: what the events and the cluster say counts, not when the service read it."""

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update

from contract.folder.events import Event, Failed, Finished, Paused, Started
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind, JobEnd
from contract.lifecycle.reason import JobEnded
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Gone, gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from scheduler.ticks.recover import recover
from store.metrics import interruptions
from store.search.usage import rank_seconds
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Job, Move, Run
from tests.testing.clusters import Far, Puppet
from tests.testing.events import STARTED, report
from tests.testing.runs import ended_attempts, job_of, read, report_gone

OFF = timedelta(hours=1)  # for so long the service was off
TRAINED_S = 45.1


@pytest.fixture
def run_id(context: Context, run_ids: list[int]) -> int:
    """A run whose job was submitted before the service was off."""
    submit_queued(context)
    submit_earlier(context, run_ids[0], OFF)
    return run_ids[0]


def submit_earlier(context: Context, run_id: int, by: timedelta) -> None:
    with transaction(context.engine) as db:
        for move in db.scalars(select(Move).where(Move.run_id == run_id)):
            move.at -= by


def started(at: float, attempt: int = 1) -> Started:
    return STARTED.model_copy(update={"at": at, "attempt": attempt})


def long_ago(minutes: float) -> float:
    return (now() - timedelta(minutes=minutes)).timestamp()


def seconds_of(run: Run) -> float | None:
    return None if run.ran_s is None else round(run.ran_s, 3)


def moves_of(context: Context, run_id: int) -> list[tuple[State, datetime]]:
    with snapshot(context.engine) as db:
        return [(one.new, one.at) for one in db.scalars(select(Move).where(Move.run_id == run_id).order_by(Move.id))]


@pytest.mark.parametrize("is_start_known", [False, True])
@pytest.mark.parametrize(
    "end", [Finished(attempt=1, at=0.0, step=4), Failed(attempt=1, at=0.0, rank=0, reason="no")], ids=["done", "failed"]
)
def test_a_run_that_ended_while_the_service_was_off_has_the_times_of_its_events(
    context: Context, puppet: Puppet, run_id: int, is_start_known: bool, end: Event
) -> None:
    """Before: 0 s where both events were read at once, and the time until the reading where only the end was missed."""
    begun = long_ago(30)
    report(context, run_id, started(begun))
    if is_start_known:
        ingest(context)
    report(context, run_id, end.model_copy(update={"at": begun + TRAINED_S}))
    ingest(context)
    run = read(context, run_id)
    assert seconds_of(run) == TRAINED_S
    assert run.started_at
    assert round(run.started_at.timestamp(), 3) == round(begun, 3)
    (attempt,) = ended_attempts(context, run_id)
    assert attempt.ended_at == run.ended_at
    assert moves_of(context, run_id)[-2:] == [(State.RUNNING, run.started_at), (run.state, run.ended_at)]
    with snapshot(context.engine) as db:
        (history,) = interruptions.observed(db, run.experiment_id, interval_s=None)
    assert history.trained_s == pytest.approx(TRAINED_S)


@pytest.mark.parametrize("skew_s", [-7200.0, 7200.0], ids=["behind", "ahead"])
def test_a_host_with_a_wrong_clock_changes_no_duration_and_no_order(
    context: Context, run_id: int, skew_s: float
) -> None:
    """The start is read at once and the end half a minute later; the host's clock is two hours wrong."""
    begun = now().timestamp()
    submit_earlier(context, run_id, -OFF)
    report(context, run_id, started(begun + skew_s))
    ingest(context)
    start = read(context, run_id).started_at
    assert start is not None
    with transaction(context.engine) as db:  # half a minute passes
        later = {"started_at": start - timedelta(seconds=TRAINED_S + 1)}
        db.execute(update(Run).where(Run.id == run_id).values(later))
        shift_s = job_of(context, run_id).clock_shift_s - TRAINED_S - 1
        db.execute(update(Job).where(Job.run_id == run_id).values(later | {"clock_shift_s": shift_s}))
    submit_earlier(context, run_id, timedelta(seconds=TRAINED_S + 1))
    report(context, run_id, Finished(attempt=1, at=begun + skew_s + TRAINED_S, step=4))
    ingest(context)
    run = read(context, run_id)
    assert (run.state, seconds_of(run)) == (State.DONE, TRAINED_S)
    at = [moment for _, moment in moves_of(context, run_id)]
    assert at == sorted(at)
    assert at[-1] <= now()


@pytest.mark.parametrize("at", [0.0, 4e9])
def test_no_event_is_before_the_submission_or_in_the_future(context: Context, run_id: int, at: float) -> None:
    before = moves_of(context, run_id)[-1][1]
    report(context, run_id, started(at), Finished(attempt=1, at=at, step=4))
    ingest(context)
    run = read(context, run_id)
    assert run.started_at
    assert run.ended_at
    assert before <= run.started_at <= run.ended_at <= now()


def test_a_retry_leaves_the_start_of_the_run_and_has_a_start_of_its_own(
    context: Context, puppet: Puppet, run_id: int
) -> None:
    begun = long_ago(30)
    report(context, run_id, started(begun), Paused(attempt=1, at=begun + 10, step=3, saved_step=3, reason="SIGTERM"))
    ingest(context)
    puppet.answers[str(job_of(context, run_id).external_id)] = gone(EndKind.EXITED, exit_code=85)
    ingest(context)
    submit_queued(context)
    report(context, run_id, started(now().timestamp(), attempt=2))
    ingest(context)
    run, job = read(context, run_id), job_of(context, run_id)
    assert (run.state, run.attempt) == (State.RUNNING, 2)
    assert run.started_at
    assert round(run.started_at.timestamp(), 3) == round(begun, 3)
    assert job.started_at
    assert job.started_at - run.started_at > timedelta(minutes=29)


def test_a_job_that_reports_nothing_ended_when_its_cluster_says(
    far_context: Context, far: Far, far_run_id: int
) -> None:
    submit_earlier(far_context, far_run_id, OFF)
    end = now() - timedelta(minutes=20)
    failed = Gone(JobEnd(kind=EndKind.CANCELLED, at=end), ExitCause.CANCELLED)
    run = report_gone(far_context, far, far_run_id, failed)
    assert (run.state, run.ended_at) == (State.CANCELLED, end)
    assert isinstance(run.reason, JobEnded)
    assert run.reason.end == JobEnd(kind=EndKind.CANCELLED), "equal ends have equal reasons"


def test_a_process_that_vanished_unseen_ended_with_its_last_sign_of_life(
    context: Context, puppet: Puppet, run_id: int
) -> None:
    begun, folder = long_ago(30), context.folder_of(read(context, run_id))
    report(context, run_id, started(begun))
    folder.claim(1, "job")
    folder.write_heartbeat(1)
    for path, age_s in ((folder.path / "attempts/1.beat", 30.0), (folder.events, 0.0)):
        os.utime(path, (begun + age_s, begun + age_s))
    puppet.answers[str(job_of(context, run_id).external_id)] = gone(EndKind.PROCESS_GONE)
    ingest(context)
    (attempt,) = ended_attempts(context, run_id)
    assert attempt.started_at
    assert (attempt.ended_at - attempt.started_at).total_seconds() == pytest.approx(30.0)
    with snapshot(context.engine) as db:
        used_s = rank_seconds(db, attempt.run_id)[0]
    assert used_s < 2 * OFF.total_seconds(), "nothing is used after the end"


def test_a_job_found_by_its_name_was_accepted_when_it_was_submitted(
    context: Context, puppet: Puppet, run_ids: list[int]
) -> None:
    """Forces the fault: the worker dies after the submission, and the job runs while the service is off."""
    puppet.trouble = RuntimeError("the worker dies")
    submit_queued(context)
    run_id = run_ids[0]
    submit_earlier(context, run_id, OFF)
    with transaction(context.engine) as db:
        db.execute(update(Job).values(lease_renewed_at=now() - OFF))
    begun = long_ago(30)
    context.folder_of(read(context, run_id)).prepare(read(context, run_id).spec)
    report(context, run_id, started(begun), Finished(attempt=1, at=begun + TRAINED_S, step=4))
    recover(context)
    ingest(context)
    run = read(context, run_id)
    assert (run.state, seconds_of(run)) == (State.DONE, TRAINED_S)


@pytest.mark.parametrize("set_back_s", [0.0, 7200.0])
def test_no_time_between_two_attempts_counts_and_no_clock_that_was_set(
    context: Context, puppet: Puppet, run_ids: list[int], set_back_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before: 11 s, a service that was off for 45 s and a second attempt were 62 s; -7,152 s with a clock set back."""
    submit_queued(context)
    run_id, begun = run_ids[0], now().timestamp()
    paused = Paused(attempt=1, at=begun + 0.1, ran_s=4.0, step=3, saved_step=3, reason="SIGTERM on rank 0")
    report(context, run_id, started(begun), paused)
    ingest(context)
    puppet.answers[str(job_of(context, run_id).external_id)] = gone(EndKind.EXITED, exit_code=85)
    ingest(context)
    assert seconds_of(read(context, run_id)) == 4.0
    clock = clock_of_service(monkeypatch, 45.0 - set_back_s)
    submit_queued(context)
    report(context, run_id, started(clock().timestamp(), attempt=2))
    report(context, run_id, Finished(attempt=2, at=clock().timestamp(), ran_s=7.0, step=4))
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.attempt, seconds_of(run)) == (State.DONE, 2, 11.0)
    assert run.started_at
    assert run.ended_at
    assert run.ended_at >= run.started_at
    (first, second) = ended_attempts(context, run_id)
    assert (first.ran_s, second.ran_s) == (4.0, 7.0)


def clock_of_service(monkeypatch: pytest.MonkeyPatch, by_s: float) -> Callable[[], datetime]:
    """Set the service's clock."""

    def moved() -> datetime:
        return datetime.now(UTC) + timedelta(seconds=by_s)

    monkeypatch.setattr("store.clock.now", moved)
    return moved


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_time_that_nothing_shows_is_not_known(context: Context, puppet: Puppet, run_id: int, attempts: int) -> None:
    """A job of an earlier version, whose clock was set back while it ran, reports moments alone."""
    begun = long_ago(30)
    report(context, run_id, started(begun))
    ingest(context)
    if attempts == 1:
        report(context, run_id, Finished(attempt=1, at=begun - 7152, step=4))
    else:
        report(context, run_id, Paused(attempt=1, at=begun - 7152, step=3, saved_step=3, reason="SIGTERM on rank 0"))
        events = context.folder_of(read(context, run_id)).events
        os.utime(events, (begun - 7152, begun - 7152))
        ingest(context)
        puppet.answers[str(job_of(context, run_id).external_id)] = gone(EndKind.EXITED, exit_code=85)
        ingest(context)
        submit_queued(context)
        at = now().timestamp()
        report(context, run_id, started(at, 2), Finished(attempt=2, at=at, ran_s=7.0, step=4))
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.ran_s) == (State.DONE, None)
    assert ended_attempts(context, run_id)[0].ran_s is None


def test_a_job_that_its_cluster_ended_ran_until_then(far_context: Context, far: Far, far_run_id: int) -> None:
    submit_earlier(far_context, far_run_id, OFF)
    begun = long_ago(30)
    report(far_context, far_run_id, started(begun))
    ingest(far_context)
    end = datetime.fromtimestamp(begun + TRAINED_S, UTC)
    run = report_gone(far_context, far, far_run_id, Gone(JobEnd(kind=EndKind.TIME_LIMIT, at=end), ExitCause.CANCELLED))
    assert seconds_of(run) == TRAINED_S
