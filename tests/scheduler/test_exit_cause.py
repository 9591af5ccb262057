"""The exit cause of an attempt: the run's own report counts, also when it comes late or the service ended the job."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from contract.folder.events import Event, Failed, Finished, Paused
from contract.folder.rank_failure import RankFailure
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Gone, gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from scheduler.ticks.reap import reap
from store import jobs
from store.lifecycle import creation
from store.session import snapshot, transaction
from tests.testing.clusters import JOB, SLURM, Far
from tests.testing.events import STARTED, report
from tests.testing.runs import job_of, make_older, read, report_gone, sentence
from tests.testing.specs import Experiment

pytestmark = pytest.mark.ring("quick")


@pytest.fixture
def context(far_context: Context) -> Context:
    return far_context


CANCELLED = gone(EndKind.CANCELLED)
LEFT = gone(EndKind.FAILED, "NonZeroExitCode")
PAUSED = Paused(attempt=1, at=2.0, step=3, saved_step=3, reason="SIGUSR2 to rank 0 on h")
FAILED = Failed(attempt=1, at=2.0, rank=0, reason="ValueError: no")


@pytest.fixture
def run_id(context: Context, experiment: Experiment) -> int:
    """A running run that may be retried after a failure."""
    with transaction(context.engine) as db:
        (run_id,) = creation.create(db, experiment(resources=SLURM, retries={"failure": 2}))[1]
    submit_queued(context)
    report(context, run_id, STARTED)
    ingest(context)
    return run_id


def exit_cause_of(context: Context, run_id: int) -> str:
    with snapshot(context.engine) as db:
        (attempt,) = jobs.ended_attempts(db, run_id)
        return str(attempt.exit_cause)


@pytest.mark.parametrize("event", [PAUSED, FAILED])
def test_a_run_is_retried_when_the_service_had_to_end_its_job_after_its_report(
    context: Context, far: Far, run_id: int, event: Event
) -> None:
    """Forces the fault: a rank hangs, so the service itself ends the job of a paused run."""
    report(context, run_id, event)
    ingest(context)
    make_older(context, run_id, moved_at=34)
    reap(context)
    assert far.cancelled == [], "srun itself ends ranks that hang, 32 s after the first rank has left"
    make_older(context, run_id, moved_at=7)
    reap(context)
    assert far.cancelled == [(JOB, False)]
    assert report_gone(context, far, run_id, CANCELLED).state == State.QUEUED
    assert exit_cause_of(context, run_id) == ("preempted" if event is PAUSED else "failure")


@pytest.mark.parametrize("is_together", [True, False], ids=["events read together", "events read one by one"])
@pytest.mark.parametrize(
    ("ran_s", "signal", "cause"),
    [(10, "SIGUSR2", "preempted"), (3505, "SIGUSR2", "time_limit"), (3505, "SIGTERM", "preempted")],
)
def test_sigusr2_means_the_time_limit_only_in_a_job_that_is_about_to_reach_it(
    context: Context, far: Far, run_id: int, is_together: bool, ran_s: float, signal: str, cause: str
) -> None:
    """Forces the signal: a cluster warns of a preemption as of the time limit (send_user_signal), here one hour."""
    report_gone(context, far, run_id, gone(EndKind.PREEMPTED))
    submit_queued(context)
    paused = Paused(attempt=2, at=100.0 + ran_s, step=3, saved_step=3, reason=f"{signal} to rank 0 on h")
    report(context, run_id, STARTED.model_copy(update={"attempt": 2, "at": 100.0}), *([paused] if is_together else []))
    ingest(context)
    if not is_together:
        report(context, run_id, paused)
        ingest(context)
    assert (read(context, run_id).state, job_of(context, run_id).reported_cause) == (State.PAUSED, cause)


def test_a_paused_run_is_cancelled_when_a_user_cancels_its_job_in_the_cluster(
    context: Context, far: Far, run_id: int
) -> None:
    report(context, run_id, PAUSED)
    ingest(context)
    assert report_gone(context, far, run_id, CANCELLED).state == State.CANCELLED


@pytest.mark.parametrize(
    ("event", "state"), [(PAUSED, State.QUEUED), (Finished(attempt=1, at=2.0, step=4), State.DONE)]
)
@pytest.mark.parametrize("log", ["", "srun: error: h: tasks 0-1: Exited with exit code 4\n"])
def test_a_report_counts_when_it_becomes_visible_after_the_end_of_the_job(
    context: Context, far: Far, run_id: int, event: Event, state: State, log: str
) -> None:
    """Forces the fault: the shared folder shows lines late, and Slurm reports a paused job as failed."""
    context.folder_of(read(context, run_id)).log.write_text(log)
    assert report_gone(context, far, run_id, LEFT).state == State.RUNNING
    report(context, run_id, event)
    ingest(context)
    ingest(context)
    assert read(context, run_id).state == state


def test_a_report_that_never_comes_is_awaited_for_a_minute(context: Context, far: Far, run_id: int) -> None:
    report_gone(context, far, run_id, LEFT)
    make_older(context, run_id, observed_at=61)
    ingest(context)
    assert (read(context, run_id).state, exit_cause_of(context, run_id)) == (State.QUEUED, "failure")


def write_note(path: Path) -> None:
    (path / "attempts" / "1.rank-1.json").write_text(
        RankFailure(at=1.0, rank=1, host="h", reason="no").model_dump_json()
    )


def write_log(path: Path) -> None:
    (path / "out.log").write_text("srun: error: h: task 1: Killed\n")


@pytest.mark.parametrize(
    ("answer", "write"),
    [
        (LEFT, write_note),
        (LEFT, write_log),
        (gone(EndKind.FAILED, "exit code 1:0", exit_code=1), write_note),
        (gone(EndKind.FAILED, "exit code 0:9"), None),
        (gone(EndKind.NODE_FAILED, "NonZeroExitCode"), None),
    ],
)
def test_a_visible_failure_is_decided_without_a_wait(
    context: Context, far: Far, run_id: int, answer: Gone, write: object
) -> None:
    if callable(write):
        write(context.folder_of(read(context, run_id)).path)
    assert report_gone(context, far, run_id, answer).state == State.QUEUED


def test_a_run_on_a_full_disk_is_decided_without_a_wait(
    context: Context, far: Far, run_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the disk of the run folders has no space for a report."""
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=100))
    context.folder_of(read(context, run_id)).claim(1, JOB)
    run = report_gone(context, far, run_id, LEFT)
    assert run.state == State.QUEUED
    assert "the folder's disk is full" in str(sentence(run))
