"""Jobs whose start a controller lost in a crash: Slurm lists them as cancelled, although nobody cancelled them.

Seen with Slurm 22.05.8 under `make chaos-workflow`: "_job_complete: JobId=268 cancelled by interactive user" of a job
that the new controller had as pending, and a second start of a job that its host runs already. Seen on the lab with the
same version: the host aborts the job ("Registered PENDING JobId"), whose second start fails ("Killing non-startable
batch JobId").
"""

from datetime import timedelta

import pytest

from contract.folder.events import Finished, Paused
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.reason import JobEnded, Retried
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Gone, gone
from scheduler.context import Context
from scheduler.ticks.cancel import cancel
from scheduler.ticks.ingest import ingest
from scheduler.ticks.poll import LOST_AFTER
from store import runs
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.clusters import Far
from tests.testing.events import STARTED, report
from tests.testing.runs import job_of, make_older, poll_now, read, report_gone

LATE = timedelta(seconds=9)  # from the attempt's beginning to the start that Slurm lists


@pytest.fixture
def context(far_context: Context) -> Context:
    return far_context


@pytest.fixture
def run_id(far_run_id: int) -> int:
    return far_run_id


def cancelled(later: timedelta) -> Gone:
    """A job that Slurm lists as cancelled and as started so much later than now."""
    return gone(EndKind.CANCELLED)._replace(started_at=now() + later)


def begin(context: Context, run_id: int) -> None:
    """Let a job begin the attempt, as its ranks do."""
    job = job_of(context, run_id)
    context.folder_of(read(context, run_id)).claim(1, str(job.external_id))
    report(context, run_id, STARTED)
    ingest(context)


def mark(context: Context, run_id: int) -> None:
    """Mark the start of the job, as its batch script does."""
    (context.folder_of(read(context, run_id)).path / "attempts" / "1.began").touch()


def after_silence(context: Context, run_id: int) -> Run:
    """Return the run after its job has been silent and unknown for long."""
    make_older(context, run_id, unknown_since=LOST_AFTER.total_seconds() + 1)
    poll_now(context)
    ingest(context)
    return read(context, run_id)


def test_a_run_whose_start_was_lost_is_tried_again_once_its_job_is_silent(
    context: Context, far: Far, run_id: int
) -> None:
    begin(context, run_id)
    assert report_gone(context, far, run_id, cancelled(LATE)).state is State.RUNNING, "it may still work"
    run = after_silence(context, run_id)
    assert run.state is State.QUEUED
    assert isinstance(run.reason, Retried)
    assert isinstance(run.reason.after, JobEnded)
    assert run.reason.after.end.kind is EndKind.START_LOST


def test_a_run_that_reports_its_end_meanwhile_is_done(context: Context, far: Far, run_id: int) -> None:
    begin(context, run_id)
    assert report_gone(context, far, run_id, cancelled(LATE)).state is State.RUNNING
    report(context, run_id, Finished(attempt=1, at=1.0, step=4))
    ingest(context)
    assert read(context, run_id).state is State.DONE


def test_scancel_of_a_job_that_runs_cancels_the_run(context: Context, far: Far, run_id: int) -> None:
    begin(context, run_id)
    assert report_gone(context, far, run_id, cancelled(-LATE)).state is State.CANCELLED


def test_a_job_that_is_started_again_and_refused_is_no_failure_of_the_run(
    context: Context, far: Far, run_id: int
) -> None:
    begin(context, run_id)
    failed = gone(EndKind.FAILED, "NonZeroExitCode")._replace(started_at=now() + LATE)
    assert report_gone(context, far, run_id, failed).state is State.RUNNING
    run = after_silence(context, run_id)
    assert run.state is State.QUEUED
    assert isinstance(run.reason, Retried)
    assert isinstance(run.reason.after, JobEnded)
    assert run.reason.after.end.kind is EndKind.START_LOST


@pytest.mark.parametrize("kind", [EndKind.CANCELLED, EndKind.FAILED])
def test_a_job_that_was_killed_before_its_claim_is_known_by_its_scripts_mark(
    context: Context, far: Far, run_id: int, kind: EndKind
) -> None:
    """Forces the fault: the first start of the job was killed while its Python started."""
    mark(context, run_id)
    assert report_gone(context, far, run_id, gone(kind)._replace(started_at=now() + LATE)).state is State.PENDING
    assert after_silence(context, run_id).state is State.QUEUED


def test_a_job_that_fails_after_its_start_has_failed(context: Context, far: Far, run_id: int) -> None:
    mark(context, run_id)
    failed = gone(EndKind.FAILED, "exit code 1:0", exit_code=1)._replace(started_at=now() - LATE)
    assert report_gone(context, far, run_id, failed).state is State.FAILED


def test_scancel_of_a_job_that_no_process_has_begun_cancels_the_run(context: Context, far: Far, run_id: int) -> None:
    assert report_gone(context, far, run_id, cancelled(LATE)).state is State.CANCELLED


def test_scancel_counts_if_the_ranks_report_it_whatever_the_clocks_say(context: Context, far: Far, run_id: int) -> None:
    """Forces the fault: the clock of the file server is slow by nine seconds."""
    begin(context, run_id)
    report(context, run_id, Paused(attempt=1, at=1.0, step=2, saved_step=2, reason="SIGTERM", signal="SIGTERM"))
    ingest(context)
    assert report_gone(context, far, run_id, cancelled(LATE)).state is State.CANCELLED


def test_a_stop_that_was_requested_cancels_the_run(context: Context, far: Far, run_id: int) -> None:
    """Forces the fault: the controller crashes while it ends a job that the service asked it to end."""
    begin(context, run_id)
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id == run_id)
    cancel(context)
    assert report_gone(context, far, run_id, cancelled(LATE)).state is State.CANCELLED
