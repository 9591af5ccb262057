"""The poll tick: it stores the status of jobs at the pace of their cluster; a missing answer never ends a run."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from types import SimpleNamespace

import pytest

from api.sentences.job_end import job_end_sentence
from contract.folder.events import Failed, Finished, Points
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.pending_reason import Pending, PendingReason
from contract.lifecycle.reason import JobEnded, NoProgress, Retried, RetriesExhausted, RunFailed
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Alive, Gone, JobHandle, JobStatus, Limits, RateLimitedError, Unknown, gone
from scheduler.clusters.slurm.job_status import UNLISTED
from scheduler.context import Context
from scheduler.jobs.terminate import terminate
from scheduler.submit.submission import submit_queued
from scheduler.ticks.cancel import cancel
from scheduler.ticks.ingest import ingest
from scheduler.ticks.poll import LOST_AFTER, poll
from scheduler.ticks.reap import reap
from store import jobs, runs
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.clusters import Cluster
from store.tables.runs import Job, Run
from tests.testing.clusters import JOB, SLURM, Far
from tests.testing.events import STARTED, report
from tests.testing.runs import job_of, make_older, poll_now, read, report_gone, sentence
from tests.testing.specs import Experiment


@pytest.fixture
def context(far_context: Context) -> Context:
    return far_context


@pytest.fixture
def run_id(far_run_id: int) -> int:
    return far_run_id


def test_a_pending_reason_is_stored_and_cleared_when_the_job_runs(context: Context, far: Far, run_id: int) -> None:
    priority = (PendingReason.PRIORITY, "Priority")
    for answer, stored in ((Alive(Pending(*priority)), priority), (Alive(), (None, None))):
        far.answers[JOB] = answer
        poll_now(context)
        job = job_of(context, run_id)
        assert (job.pending_reason, job.pending_detail) == stored


def test_a_cluster_is_polled_at_its_pace_by_one_worker(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def ask(jobs: Sequence[JobHandle]) -> Mapping[JobHandle, JobStatus]:
        asked.append(jobs)
        return dict.fromkeys(jobs, Alive())

    monkeypatch.setattr(far, "status", ask)
    monkeypatch.setattr("scheduler.ticks.poll.BUSY_S", 45.0)  # however slow this machine is
    for _ in range(3):
        poll(context)
    assert len(asked) == 1
    poll_now(context)
    assert len(asked) == 2


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("took_s", "retention_s", "wait_s"),
    [(0.1, None, 6.0), (1.2, None, 12.0), (20.0, None, 15.0), (20.0, 300.0, 15.0), (20.0, 24.0, 12.0)],
)
def test_a_slow_cluster_is_polled_less_often_but_within_its_retention_of_ended_jobs(
    context: Context,
    far: Far,
    run_id: int,
    took_s: float,
    retention_s: float | None,
    wait_s: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moments = iter([0.0, took_s])
    monkeypatch.setattr("scheduler.ticks.poll.time", SimpleNamespace(monotonic=lambda: next(moments)))
    monkeypatch.setattr(far, "limits", lambda: Limits(retention_s=retention_s))
    before = now()
    poll_now(context)
    with snapshot(context.engine) as db:
        after = db.get_one(Cluster, "slurm").poll_after
    assert after is not None
    assert before <= after - timedelta(seconds=wait_s) <= now()


def test_points_are_stored_while_the_cluster_does_not_answer(context: Context, far: Far, run_id: int) -> None:
    """Forces the fault: the cluster gives no answer for a while, and the run trains on."""
    report(context, run_id, STARTED)
    far.answers[JOB] = Unknown("squeue gave no answer")
    poll_now(context)
    report(context, run_id, Points(attempt=1, at=0.0, step=3, values={"loss": 1.0}))
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.step) == (State.RUNNING, 3)
    assert job_of(context, run_id).unknown_since is not None
    far.answers[JOB] = Alive()
    poll_now(context)
    assert job_of(context, run_id).unknown_since is None


def test_a_poll_without_a_free_call_changes_nothing(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rate_limited(_: object) -> dict[str, Alive]:
        raise RateLimitedError("the rate limit is reached")

    monkeypatch.setattr(far, "status", rate_limited)
    poll_now(context)
    assert job_of(context, run_id).unknown_since is None


def test_a_job_that_the_cluster_does_not_list_is_alive_while_it_has_a_heartbeat(
    context: Context, far: Far, run_id: int
) -> None:
    """Forces the fault: squeue and sacct list no job, and the controller reports that no such job exists."""
    report(context, run_id, STARTED)
    ingest(context)
    folder = context.folder_of(read(context, run_id))
    far.answers[JOB] = UNLISTED
    folder.write_heartbeat(1)
    poll_now(context)
    assert job_of(context, run_id).unknown_since is None
    (folder.path / "attempts" / "1.beat").unlink()
    poll_now(context)
    assert job_of(context, run_id).unknown_since is not None
    ingest(context)
    assert read(context, run_id).state == State.RUNNING, "a job that was unknown for a moment is not gone"
    make_older(context, run_id, unknown_since=LOST_AFTER.total_seconds() - 5)
    poll_now(context)
    ingest(context)
    assert read(context, run_id).state == State.RUNNING
    make_older(context, run_id, unknown_since=6)
    poll_now(context)
    ingest(context)
    run = read(context, run_id)
    assert (run.state, run.attempt) == (State.QUEUED, 1)
    assert isinstance(run.reason, Retried)
    assert isinstance(run.reason.after, JobEnded)
    assert run.reason.after.end.kind is EndKind.UNLISTED


def test_an_older_answer_of_a_slow_poll_does_not_undo_a_stored_end(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: while a slow poll waits for its answer, another poll stores the end of the job."""
    status = far.status

    def slow(jobs: Sequence[JobHandle]) -> Mapping[JobHandle, JobStatus]:
        monkeypatch.setattr(far, "status", status)
        assert report_gone(context, far, run_id, gone(EndKind.PREEMPTED)).state == State.QUEUED
        return dict.fromkeys(jobs, Alive(Pending(PendingReason.REQUEUED)))

    monkeypatch.setattr(far, "status", slow)
    poll_now(context)
    job = job_of(context, run_id)
    assert (job.observed_cause, job.is_gone, job.pending_reason) == (ExitCause.PREEMPTED, True, None)


def test_the_end_of_a_completed_job_waits_for_its_last_lines(context: Context, far: Far, run_id: int) -> None:
    """Forces the fault: the shared file system shows the last lines half a minute after Slurm reports the end."""
    report(context, run_id, STARTED)
    far.answers[JOB] = gone(EndKind.COMPLETED)
    poll_now(context)
    ingest(context)
    assert read(context, run_id).state == State.RUNNING
    report(context, run_id, Finished(attempt=1, at=9.0, step=4))
    ingest(context)
    assert read(context, run_id).state == State.DONE


def test_lines_that_become_visible_after_the_end_are_stored(context: Context, far: Far, run_id: int) -> None:
    """Forces the fault: a job is killed, and its last lines become visible late."""
    report(context, run_id, STARTED)
    far.answers[JOB] = gone(EndKind.OUT_OF_MEMORY)
    poll_now(context)
    ingest(context)
    assert read(context, run_id).state == State.FAILED
    report(context, run_id, Points(attempt=1, at=0.0, step=2, values={"loss": 1.0}))
    ingest(context)
    assert (read(context, run_id).state, read(context, run_id).step) == (State.FAILED, 2)


def test_a_run_is_retried_later_on_another_node_after_a_node_failure(context: Context, far: Far, run_id: int) -> None:
    report(context, run_id, STARTED)
    ingest(context)
    need = read(context, run_id).need
    run = report_gone(context, far, run_id, gone(EndKind.NODE_FAILED))
    assert (run.state, run.excluded, run.need != need) == (State.QUEUED, ["h"], True)
    submit_queued(context)
    assert read(context, run_id).state == State.QUEUED, "the run waits for half a minute"
    make_older(context, run_id, not_before=31)
    submit_queued(context)
    assert (read(context, run_id).state, read(context, run_id).attempt) == (State.PENDING, 2)
    assert far.jobs["job2"].excluded == ["h"]
    with snapshot(context.engine) as db:
        (job,) = jobs.ended_attempts(db, run_id)
    assert (job.attempt, job.exit_cause, job.external_id, job.hosts) == (1, ExitCause.NODE_FAILURE, "job1", ["h"])


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("answer", "state"),
    [
        (gone(EndKind.OUT_OF_MEMORY), State.FAILED),
        (gone(EndKind.FAILED, "exit code 0:11"), State.FAILED),
        (gone(EndKind.CANCELLED), State.CANCELLED),
        (gone(EndKind.PREEMPTED), State.QUEUED),
        (gone(EndKind.TIME_LIMIT), State.QUEUED),
    ],
)
def test_the_next_state_follows_from_the_exit_cause(
    context: Context, far: Far, run_id: int, answer: Gone, state: State
) -> None:
    report(context, run_id, STARTED)
    ingest(context)
    run = report_gone(context, far, run_id, answer)
    assert (run.state, job_end_sentence(answer.end) in str(sentence(run))) == (state, True)


def test_a_run_fails_at_its_second_time_limit_without_progress(context: Context, far: Far, run_id: int) -> None:
    limit = gone(EndKind.TIME_LIMIT)
    assert report_gone(context, far, run_id, limit).state == State.QUEUED
    submit_queued(context)
    run = report_gone(context, far, run_id, limit)
    assert run.state == State.FAILED
    assert isinstance(run.reason, NoProgress)
    assert run.reason.step == 0


def test_a_failure_is_retried_as_often_as_the_spec_allows(context: Context, far: Far, experiment: Experiment) -> None:
    with transaction(context.engine) as db:
        (run_id,) = creation.create(db, experiment(resources=SLURM, retries={"failure": 1, "backoff_s": 0.0}))[1]
    submit_queued(context)
    report(context, run_id, STARTED, Failed(attempt=1, at=1.0, rank=0, reason="ValueError: no"))
    ingest(context)
    assert read(context, run_id).state == State.PAUSED, "its job has not ended yet"
    assert report_gone(context, far, run_id, gone(EndKind.FAILED)).state == State.QUEUED
    submit_queued(context)
    report(context, run_id, Failed(attempt=2, at=1.0, rank=0, reason="ValueError: again"))
    ingest(context)
    run = read(context, run_id)
    reasons = [RunFailed(message=f"ValueError: {word}") for word in ("no", "again")]
    assert run.state == State.FAILED
    assert run.reason == RetriesExhausted(after=reasons[1], cause=ExitCause.FAILURE, retries=1)
    with snapshot(context.engine) as db:
        assert [job.exit_reason for job in jobs.ended_attempts(db, run_id)] == reasons


def test_a_job_is_asked_to_end_once_then_killed_and_killed_again(context: Context, far: Far, run_id: int) -> None:
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id == run_id)
    for _ in range(3):
        cancel(context)
    assert far.cancelled == [(JOB, False)]
    make_job_older(context, run_id, stop_requested_at=16)
    for _ in range(3):
        cancel(context)
    assert far.cancelled[1:] == [(JOB, True)]
    make_job_older(context, run_id, kill_requested_at=61)
    cancel(context)
    assert far.cancelled[2:] == [(JOB, True)]
    assert read(context, run_id).state == State.PENDING
    assert report_gone(context, far, run_id, gone(EndKind.CANCELLED)).state == State.CANCELLED


def test_a_job_that_outlives_its_failed_run_is_asked_to_end_once(context: Context, far: Far, run_id: int) -> None:
    report(context, run_id, STARTED, Failed(attempt=1, at=1.0, rank=0, reason="no"))
    ingest(context)
    for _ in range(3):
        reap(context)
    assert far.cancelled == [(JOB, False)]
    far.answers[JOB] = gone(EndKind.CANCELLED)
    poll_now(context)
    with snapshot(context.engine) as db:
        assert not runs.with_open_jobs(db, 10)


def test_a_job_of_an_absent_cluster_is_left_alone(context: Context, run_id: int) -> None:
    terminate(context, "elsewhere", [read(context, run_id)])


def make_job_older(context: Context, run_id: int, **by_s: float) -> None:
    """Move moments of the run's job into the past; moments of the same name of the run itself stay."""
    with transaction(context.engine) as db:
        job = db.get_one(Job, job_of(context, run_id).id)
        for name, seconds in by_s.items():
            setattr(job, name, getattr(job, name) - timedelta(seconds=seconds))
