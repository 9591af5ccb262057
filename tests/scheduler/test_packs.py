"""Packed jobs: runs that share a job are submitted, adopted, ended and stopped one by one."""

import errno
from contextlib import AbstractContextManager
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine
from sqlalchemy.orm import Session

from contract.folder.events import Failed, Started
from contract.folder.run_folder import ABANDONED, RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import EndKind
from contract.lifecycle.reason import Begun, JobEnded, Retried
from contract.lifecycle.state import State
from runfiles.packed import read_members
from scheduler.clusters.cluster import ArrayRequest, JobRequest, NoAnswerError, gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.cancel import cancel
from scheduler.ticks.ingest import ingest
from scheduler.ticks.poll import poll
from scheduler.ticks.reap import reap
from scheduler.ticks.recover import recover
from store import jobs, runs
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.tables.experiments import Experiment as Stored
from store.tables.runs import Job, Run
from tests.testing.clusters import SLURM, Far
from tests.testing.events import report
from tests.testing.runs import end, job_of, read, states, submit_from_eight
from tests.testing.specs import Experiment


@pytest.fixture
def context(sqlite_engine: Engine, far: Far, tmp_path: Path) -> Context:
    return Context(sqlite_engine, {"slurm": far}, tmp_path / "runs", local_ranks=1)


def create_runs(context: Context, experiment: Experiment, size: int, pack: int, cap: int | None = None) -> list[int]:
    with transaction(context.engine) as db:
        id_, run_ids = creation.create(
            db, experiment({"seed": list(range(size))}, resources=SLURM, retries={"failure": 0})
        )
        stored = db.get_one(Stored, id_)
        stored.max_parallel, stored.pack = cap, pack
    return run_ids


@pytest.fixture
def pair(context: Context, experiment: Experiment) -> list[Run]:
    """Two runs that share a job; the first run trains."""
    run_ids = create_runs(context, experiment, 2, pack=2)
    submit_queued(context)
    found = [read(context, run_id) for run_id in run_ids]
    assert [job_of(context, run_id).external_id for run_id in run_ids] == ["job1_0"] * 2
    begin(context, found[0])
    return found


def begin(context: Context, run: Run) -> None:
    context.folder_of(run).claim(1, f"job1_0 (member {job_of(context, run.id).pack_member})")
    report(context, run.id, Started(attempt=1, at=0.0, hosts=["a"], world=2, device="cpu", steps=4, versions={}))
    ingest(context)


def poll_and_ingest(context: Context) -> None:
    poll(context)
    ingest(context)


def request_stop(context: Context, *stopped: Run) -> None:
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id.in_([run.id for run in stopped]))
    cancel(context)


def test_nine_runs_in_packs_of_four_are_three_jobs_of_three_runs(
    context: Context, far: Far, experiment: Experiment
) -> None:
    run_ids = create_runs(context, experiment, 9, pack=4, cap=7)
    submit_from_eight(context)
    (array,) = far.jobs.values()
    assert isinstance(array, ArrayRequest)
    assert (array.tasks, array.pack, array.parallel) == ([0, 1, 2], 3, 2)
    assert [job_of(context, run_id).external_id for run_id in run_ids] == [
        f"job1_{task}" for task in (0, 1, 2) for _ in range(3)
    ]
    carried = [folder.path.resolve() for folder in read_members(array.folder.path / "1").values()]
    assert carried == [context.folder_of(read(context, run_id)).path.resolve() for run_id in run_ids[3:6]]


def test_the_limit_of_the_cluster_counts_jobs_and_not_runs(context: Context, far: Far, experiment: Experiment) -> None:
    run_ids = create_runs(context, experiment, 9, pack=4)
    far.room = 2
    submit_queued(context)
    assert [isinstance(job, ArrayRequest) and job.pack for job in far.jobs.values()] == [4]
    end(context, run_ids[:3])
    submit_queued(context)
    assert len(far.jobs) == 1, "the fourth run still has its job"
    end(context, run_ids[3:4])
    submit_queued(context)
    assert isinstance(far.jobs["job2"], JobRequest), "the last run has a job to itself"


def test_a_packed_array_is_adopted_whole_when_the_cluster_accepted_it_and_sbatch_timed_out(
    context: Context, far: Far, experiment: Experiment
) -> None:
    """Forces the fault: the cluster accepts the array and the answer is lost."""
    run_ids = create_runs(context, experiment, 4, pack=2)
    far.trouble = NoAnswerError("Socket timed out on send/recv operation")
    submit_queued(context)
    recover(context, timedelta(0))
    assert [job_of(context, run_id).external_id for run_id in run_ids] == ["job1_0", "job1_0", "job1_1", "job1_1"]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("log", "cause"),
    [
        ("", ExitCause.FAILURE),
        ("0: warning: this may run out of memory", ExitCause.FAILURE),
        ("error: 1 oom_kill event", ExitCause.OUT_OF_MEMORY),
        ("0: torch.OutOfMemoryError: CUDA out of memory", ExitCause.OUT_OF_MEMORY),
    ],
)
def test_the_end_of_a_part_decides_on_its_run_and_the_other_run_goes_on(
    context: Context, pair: list[Run], log: str, cause: ExitCause
) -> None:
    folder = context.folder_of(pair[0])
    folder.log.write_text(log)
    folder.write_part_exit(1, 137)
    poll_and_ingest(context)
    assert states(context) == [State.FAILED, State.PENDING]
    with snapshot(context.engine) as db:
        assert [attempt.exit_cause for attempt in jobs.ended_attempts(db, pair[0].id)] == [cause]


def test_a_part_that_had_not_begun_is_queued_again_and_cannot_begin_later(
    context: Context, far: Far, pair: list[Run]
) -> None:
    """Forces the fault: the job fails when one of its two parts has begun."""
    far.answers["job1_0"] = gone(EndKind.FAILED)
    poll_and_ingest(context)
    assert states(context) == [State.FAILED, State.QUEUED]
    reason = read(context, pair[1].id).reason
    assert isinstance(reason, Retried)
    assert isinstance(reason.after, JobEnded)
    assert reason.after.begun is Begun.PART_NEVER
    assert context.folder_of(pair[1]).claim(1, "late") == ABANDONED


@pytest.mark.ring("all")
def test_a_cancelled_job_cancels_both_runs(context: Context, far: Far, pair: list[Run]) -> None:
    far.answers["job1_0"] = gone(EndKind.CANCELLED)
    poll_and_ingest(context)
    assert states(context) == [State.CANCELLED] * 2


def test_a_part_that_has_not_begun_is_cancelled_at_once_and_never_begins(
    context: Context, far: Far, pair: list[Run]
) -> None:
    request_stop(context, pair[1])
    assert (states(context), far.cancelled) == ([State.RUNNING, State.CANCELLED], [])
    assert context.folder_of(pair[1]).claim(1, "late") == ABANDONED


def test_a_part_that_trains_is_asked_by_a_file_in_its_folder_and_then_killed(
    context: Context, far: Far, pair: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    request_stop(context, pair[0])
    assert context.folder_of(pair[0]).read_end_request(1) == "TERM"
    monkeypatch.setattr("scheduler.jobs.terminate.GRACE", timedelta(0))
    cancel(context)
    assert context.folder_of(pair[0]).read_end_request(1) == "KILL"
    assert job_of(context, pair[0].id).kill_requested_at
    assert (states(context), far.cancelled) == ([State.RUNNING, State.PENDING], [])
    context.folder_of(pair[0]).write_part_exit(1, 137)
    poll_and_ingest(context)
    assert states(context) == [State.CANCELLED, State.PENDING]


def test_parts_of_shared_jobs_are_stopped_together_in_one_transaction(
    context: Context, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_ids = create_runs(context, experiment, 9, pack=3)
    submit_queued(context)
    begun, others = [read(context, run_id) for run_id in run_ids[:2]], [run_ids[2], run_ids[5], run_ids[8]]
    for run in begun:
        begin(context, run)
    transactions = list[int]()

    def counted(engine: Engine) -> AbstractContextManager[Session]:
        transactions.append(1)
        return transaction(engine)

    monkeypatch.setattr("scheduler.jobs.packed.transaction", counted)
    request_stop(context, *(read(context, run_id) for run_id in run_ids if run_id not in others))
    assert (far.cancelled, transactions) == ([], [1])
    assert [context.folder_of(run).read_end_request(1) for run in begun] == ["TERM"] * 2
    cancelled = [run_id for run_id in run_ids if read(context, run_id).state == State.CANCELLED]
    assert cancelled == [run_id for run_id in run_ids[2:] if run_id not in others]


def test_the_job_is_ended_when_all_its_runs_are_stopped(context: Context, far: Far, pair: list[Run]) -> None:
    request_stop(context, *pair)
    assert {job_id for job_id, _ in far.cancelled} == {"job1_0"}
    assert context.folder_of(pair[0]).read_end_request(1) is None


def test_the_last_run_to_be_stopped_ends_the_job_while_the_other_run_is_ending(
    context: Context, far: Far, pair: list[Run]
) -> None:
    """Forces the fault: the process that carries the parts ignores the request in the folder of the first run."""
    begin(context, pair[1])
    request_stop(context, pair[0])
    assert (context.folder_of(pair[0]).read_end_request(1), far.cancelled) == ("TERM", [])
    request_stop(context, pair[1])
    assert far.cancelled == [("job1_0", False)]


def test_an_unreachable_folder_does_not_stop_the_poll(
    context: Context, far: Far, pair: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the shared file system has lost the file with the exit status of a part."""

    def stale(self: RunFolder, attempt: int) -> int | None:
        raise OSError(errno.ESTALE, "Stale file handle")

    far.answers["job1_0"] = gone(EndKind.NODE_FAILED)
    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "read_part_exit", stale)
        poll(context)
    assert job_of(context, pair[0].id).observed_cause == ExitCause.NODE_FAILURE


def test_a_part_that_outlives_its_report_is_ended_and_the_other_part_is_not(
    context: Context, far: Far, pair: list[Run]
) -> None:
    report(context, pair[0].id, Failed(attempt=1, at=0.0, rank=0, reason="the loss is no number"))
    ingest(context)
    reap(context)
    assert (far.cancelled, context.folder_of(pair[0]).read_end_request(1)) == ([], "TERM")
    end(context, [pair[1].id])
    with transaction(context.engine) as db:
        db.get_one(Job, job_of(context, pair[0].id).id).stop_requested_at = None
    reap(context)
    assert far.cancelled == [("job1_0", False)]
