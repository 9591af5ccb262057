"""Array jobs: many runs in one submission, each exactly once, within caps and limits."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import pytest
from sqlalchemy import Engine

from contract.access.visibility import Visibility
from contract.folder.array_folder import ArrayFolder
from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from scheduler.clusters.cluster import ArrayRequest, JobRequest, NoAnswerError, QueueFullError, RateLimitedError
from scheduler.context import Context
from scheduler.submit.folders import Pair, _write_one
from scheduler.submit.select import select_next
from scheduler.submit.submission import submit_queued
from scheduler.ticks.recover import recover
from store import runs, submissions, transitions
from store.lifecycle import creation
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.clusters import SLURM, Far, sizes
from tests.testing.runs import IMMEDIATELY, create_runs, end, job_of, read, sentence, states, submit_from_eight
from tests.testing.specs import Experiment

pytestmark = pytest.mark.ring("quick")


@pytest.fixture
def context(engine: Engine, far: Far, tmp_path: Path) -> Context:
    return Context(engine, {"slurm": far}, tmp_path / "runs", local_ranks=1)


def test_runs_are_submitted_in_arrays_as_large_as_the_cluster_accepts(
    context: Context, far: Far, experiment: Experiment
) -> None:
    run_ids = create_runs(context, experiment, 9)
    submit_queued(context)
    assert sizes(far) == [4, 4, 1]
    assert [job_of(context, run_id).external_id for run_id in run_ids] == [
        *(f"job1_{task}" for task in range(4)),
        *(f"job2_{task}" for task in range(4)),
        "job3",
    ]
    array = far.jobs["job2"]
    assert isinstance(array, ArrayRequest)
    assert [far.jobs[job_id].comment for job_id in ("job2", "job3")] == [
        f"bigbatch experiment 1, 4 runs from {run_ids[4]} to {run_ids[7]}, attempt 1, of {context.runs_folder}",
        f"bigbatch experiment 1, run {run_ids[8]}, attempt 1, of {context.runs_folder}",
    ]
    for task, run_id in enumerate(run_ids[4:8]):
        assert (array.folder.path / str(task)).resolve() == context.folder_of(read(context, run_id)).path.resolve()


def test_eight_workers_submit_fifty_runs_in_arrays_once_each(
    context: Context, far: Far, experiment: Experiment
) -> None:
    """Forces the race: eight workers start to submit the same fifty queued runs at the same moment."""
    run_ids = create_runs(context, experiment, 50)
    submit_from_eight(context)
    assert sum(sizes(far)) == 50
    assert len({job_of(context, run_id).external_id for run_id in run_ids}) == 50
    assert states(context) == [State.PENDING] * 50


def test_runs_of_different_resources_or_attempts_do_not_share_an_array(
    context: Context, far: Far, experiment: Experiment
) -> None:
    with transaction(context.engine) as db:
        creation.create(db, experiment({"seed": [0, 1], "resources.ranks_per_node": [1, 2]}, resources=SLURM))
        second = db.get_one(Run, 4)
        second.attempt = 3
    submit_queued(context)
    assert sorted(sizes(far)) == [1, 1, 2]
    assert {job.attempt for job in far.jobs.values()} == {1, 4}


def test_max_parallel_holds_over_all_submissions_of_an_experiment(
    context: Context, far: Far, experiment: Experiment
) -> None:
    run_ids = create_runs(context, experiment, 9, cap=3)
    submit_queued(context)
    (first,) = far.jobs.values()
    assert isinstance(first, ArrayRequest)
    assert (len(first.tasks), first.parallel) == (4, 3)
    end(context, run_ids[:3])
    submit_queued(context)
    assert sizes(far) == [4], "one of the first four runs may still run, so a second array might run four at once"
    end(context, run_ids[3:4])
    submit_queued(context)
    assert sizes(far) == [4, 4]


def test_a_limit_of_jobs_below_max_parallel_is_filled_as_runs_end(
    context: Context, far: Far, experiment: Experiment
) -> None:
    run_ids = create_runs(context, experiment, 9, cap=8)
    far.room = 6
    submit_queued(context)
    assert sizes(far) == [4, 2], "two more are six of the eight that may run"
    end(context, run_ids[:2])
    submit_queued(context)
    assert sizes(far) == [4, 2, 2]


def test_no_more_jobs_are_submitted_than_the_cluster_allows_one_user(
    context: Context, far: Far, experiment: Experiment
) -> None:
    run_ids = create_runs(context, experiment, 9)
    far.room = 6
    submit_queued(context)
    assert sizes(far) == [4, 2]
    submit_queued(context)
    assert sizes(far) == [4, 2]
    end(context, run_ids[:1])
    submit_queued(context)
    assert sizes(far) == [4, 2, 1]


@pytest.mark.parametrize("full", [QueueFullError("job submit limit"), RateLimitedError("spent")])
def test_runs_stay_queued_when_the_cluster_accepts_no_more_jobs_for_now(
    context: Context, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch, full: Exception
) -> None:
    """Forces the fault: sbatch reports that a limit is reached, or the rate limit allows no further call."""
    (run_id, *_) = create_runs(context, experiment, 2)

    def refuse(_: JobRequest | ArrayRequest) -> str:
        raise full

    monkeypatch.setattr(far, "submit", refuse)
    submit_queued(context)
    assert states(context) == [State.QUEUED] * 2
    assert sentence(read(context, run_id)) == str(full)
    assert (select_next(context, "slurm", far) is None) == isinstance(full, QueueFullError)


def test_an_array_is_adopted_whole_when_the_cluster_accepted_it_and_sbatch_timed_out(
    context: Context, far: Far, experiment: Experiment
) -> None:
    """Forces the fault: the cluster accepts the array and the answer is lost."""
    run_ids = create_runs(context, experiment, 4)
    far.trouble = NoAnswerError("Socket timed out on send/recv operation")
    submit_queued(context)
    assert states(context) == [State.SUBMITTING] * 4
    recover(context, IMMEDIATELY)
    assert [job_of(context, run_id).external_id for run_id in run_ids] == [f"job1_{task}" for task in range(4)]
    assert len(far.jobs) == 1


def test_an_array_is_submitted_again_when_its_worker_died_before_sbatch(
    context: Context, far: Far, experiment: Experiment
) -> None:
    """Forces the fault: the worker dies after it took the runs and before it wrote their folders."""
    run_ids = create_runs(context, experiment, 3)
    with transaction(context.engine) as db:
        submissions.take(db, runs.queued(db, "slurm", 3), "bigbatch-lost-1")
    recover(context, IMMEDIATELY)
    assert states(context) == [State.QUEUED] * 3
    submit_queued(context)
    assert (sizes(far), {read(context, run_id).attempt for run_id in run_ids}) == ([3], {2})
    assert context.folder_of(read(context, run_ids[2])).claim(1, "late_2") != "late_2", "the first array must not train"


def test_an_array_whose_lease_expires_while_its_folders_are_written_is_not_submitted(
    context: Context, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: the file system is so slow that the runs are queued again before their worker calls sbatch."""
    create_runs(context, experiment, 2)
    prepare = ArrayFolder.link_runs

    def slow(folder: ArrayFolder, tasks: Mapping[int, RunFolder], visibility: Visibility) -> None:
        prepare(folder, tasks, visibility)
        recover(context, IMMEDIATELY)

    monkeypatch.setattr(ArrayFolder, "link_runs", slow)
    submit_queued(context)
    assert (states(context), sizes(far)) == ([State.QUEUED] * 2, [])


def test_the_tasks_that_began_are_adopted_from_an_unlisted_array(
    context: Context, far: Far, experiment: Experiment
) -> None:
    """Forces the fault: one of two array tasks starts, and the cluster forgets the array before the search."""
    run_ids = create_runs(context, experiment, 2)
    with transaction(context.engine) as db:
        submissions.take(db, runs.queued(db, "slurm", 2), "bigbatch-lost-1")
    request = request_of(context, run_ids[1])
    request.folder.prepare(request.spec)
    request.folder.claim(1, "77_1")
    recover(context, IMMEDIATELY)
    assert [(read(context, r).state, job_of(context, r).external_id) for r in run_ids] == [
        (State.QUEUED, None),
        (State.PENDING, "77_1"),
    ]


def test_a_run_whose_folder_cannot_be_written_fails_alone(context: Context, far: Far, experiment: Experiment) -> None:
    """Forces the fault: a file lies where the folder of one of three runs should be."""
    run_ids = create_runs(context, experiment, 3)
    path = context.folder_of(read(context, run_ids[1])).path
    path.parent.mkdir(parents=True)
    path.touch()
    submit_queued(context)
    assert states(context) == [State.PENDING, State.FAILED, State.PENDING]
    (array,) = far.jobs.values()
    assert isinstance(array, ArrayRequest)
    assert array.tasks == [0, 2]
    assert job_of(context, run_ids[2]).external_id == "job1_2"


def test_workers_that_selected_runs_at_different_moments_share_no_name(
    context: Context, far: Far, experiment: Experiment
) -> None:
    """Forces the race: a worker selects a run, a second worker selects this run and a newer one; the first takes it."""
    (first,) = create_runs(context, experiment, 1)
    alone = select_next(context, "slurm", far)
    (second,) = create_runs(context, experiment, 1)
    both = select_next(context, "slurm", far)
    assert alone
    assert both
    assert (alone.name, [run.id for run in both.runs]) == (both.name, [first, second])
    with transaction(context.engine) as db:
        taken = submissions.take(db, alone.runs, alone.name)
        none = submissions.take(db, both.runs, both.name)
    assert ([run.id for run in taken], none) == ([first], [])
    with transaction(context.engine) as db:
        transitions.apply_to_submission(db, alone.name, State.PENDING, job_id="100")
    submit_queued(context)
    assert [job_of(context, run_id).external_id for run_id in (first, second)] == ["100", "job1"]


def test_workers_that_selected_runs_at_different_moments_share_max_parallel(
    context: Context, far: Far, experiment: Experiment
) -> None:
    """Forces the race: one worker selects while the first run must wait, another worker after the wait."""
    run_ids = create_runs(context, experiment, 4, cap=2)
    with transaction(context.engine) as db:
        db.get_one(Run, run_ids[0]).not_before = now().replace(year=2100)
    late = select_next(context, "slurm", far)
    with transaction(context.engine) as db:
        db.get_one(Run, run_ids[0]).not_before = None
    soon = select_next(context, "slurm", far)
    assert late
    assert soon
    assert [late.runs[0].id, soon.runs[0].id] == run_ids[1::-1]
    with transaction(context.engine) as db:
        assert submissions.take(db, late.runs, late.name, parallel=late.parallel)
        assert submissions.take(db, soon.runs, soon.name, parallel=soon.parallel) == []
    submit_queued(context)
    assert sizes(far) == [], "the three runs that the first worker took may run already"
    end_of = {run_id: read(context, run_id).state for run_id in run_ids}
    assert end_of == dict(zip(run_ids, [State.QUEUED, *[State.SUBMITTING] * 3], strict=True))


def test_a_submission_renews_its_lease_while_its_folders_are_written(
    context: Context, far: Far, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces a shared folder so slow that the lease would expire while the folders are written."""
    run_ids, renewals = create_runs(context, experiment, 4), set[datetime]()
    monkeypatch.setattr("scheduler.submit.folders.PORTION", 2)
    monkeypatch.setattr("scheduler.submit.folders.RENEW_S", 0.0)

    def slowly(context: Context, pair: Pair) -> OSError | None:
        renewals.add(job_of(context, run_ids[0]).lease_renewed_at)
        return _write_one(context, pair)

    monkeypatch.setattr("scheduler.submit.folders._write_one", slowly)
    submit_queued(context)
    assert len(renewals) == 2
    assert sizes(far) == [4]


def request_of(context: Context, run_id: int) -> JobRequest:
    run = read(context, run_id)
    assert run.current_job is not None
    return context.request_of(run, run.current_job)
