"""Submission: each run exactly once, whatever fails in between; refusals in the cluster's own words."""

import errno

import pytest
from sqlalchemy import Engine, update

from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from scheduler.clusters.cluster import JobRequest, RefusedError
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.recover import recover
from store import runs, transitions
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.tables.runs import Run
from tests.testing.clusters import Puppet
from tests.testing.runs import IMMEDIATELY, job_of, move, read, sentence, states, submit_from_eight
from tests.testing.specs import Experiment


@pytest.mark.ring("all")
def test_eight_workers_submit_fifty_runs_once_each(context: Context, puppet: Puppet, experiment: Experiment) -> None:
    """Forces the race: eight workers start to submit the same fifty queued runs at the same moment."""
    with transaction(context.engine) as db:
        creation.create(db, experiment({"seed": list(range(50))}))
    submit_from_eight(context)
    names = [job.name for job in puppet.jobs.values()]
    assert (len(names), len(set(names))) == (50, 50)
    assert states(context) == [State.PENDING] * 50


def test_a_refused_run_fails_with_the_message_of_the_cluster(
    context: Context, puppet: Puppet, run_ids: list[int]
) -> None:
    puppet.trouble = RefusedError("invalid partition specified: nosuch")
    submit_queued(context)
    run = read(context, run_ids[0])
    assert (run.state, sentence(run)) == (State.FAILED, "local refused the job: invalid partition specified: nosuch")


def test_a_run_folder_that_cannot_be_written_fails_the_run_with_its_path(context: Context, run_ids: list[int]) -> None:
    """Forces the fault: a file lies where the folder of run folders should be."""
    context.runs_folder.write_text("in the way")
    submit_queued(context)
    run = read(context, run_ids[0])
    assert run.state == State.FAILED
    assert "the run folder cannot be written" in str(sentence(run))
    assert str(context.runs_folder) in str(sentence(run))


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ESTALE, errno.EACCES, errno.EROFS])
def test_a_run_stays_queued_when_its_folder_may_be_written_later(
    context: Context, run_ids: list[int], monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """Forces the fault: the folder of a run cannot be written, because its disk is full or its file server is down."""

    def full(*_: object) -> None:
        raise OSError(error, "out of order")

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "prepare", full)
        submit_queued(context)
    run = read(context, run_ids[0])
    assert (run.state, job_of(context, run_ids[0]).external_id) == (State.QUEUED, None)
    assert "out of order" in str(sentence(run))
    with transaction(context.engine) as db:
        db.execute(update(Run).values(not_before=None))
    submit_queued(context)
    assert states(context) == [State.PENDING] * 3


def test_a_job_that_was_adopted_while_its_worker_was_slow_is_not_cancelled(
    context: Context, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the race: the run is recovered between its submission and the storing of its id."""
    submit = puppet.submit

    def recovered(job: JobRequest) -> str:
        job_id = submit(job)
        recover(context, IMMEDIATELY)
        return job_id

    monkeypatch.setattr(puppet, "submit", recovered)
    submit_queued(context)
    assert (states(context), puppet.cancelled) == ([State.PENDING] * 3, [])


def test_a_queued_run_with_a_stop_request_is_not_submitted(
    context: Context, puppet: Puppet, run_ids: list[int]
) -> None:
    with transaction(context.engine) as db:
        runs.request_stop(db, Run.id.in_(run_ids[1:]))
    submit_queued(context)
    assert len(puppet.jobs) == 1


def test_a_worker_whose_run_was_queued_again_cancels_its_job(
    context: Context, puppet: Puppet, run_ids: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: while sbatch is slow, the submission counts as lost and the run is queued again."""
    submit = puppet.submit

    def slow(job: JobRequest) -> str:
        with transaction(context.engine) as db:
            for run in runs.in_state(db, State.SUBMITTING):
                transitions.apply_if_unchanged(db, run, State.QUEUED)
        return submit(job)

    monkeypatch.setattr(puppet, "submit", slow)
    submit_queued(context)
    assert puppet.cancelled == [("job1", False)]


def test_local_runs_wait_for_free_ranks_and_a_larger_run_gets_the_whole_machine(
    engine: Engine, context: Context, experiment: Experiment
) -> None:
    small = Context(engine, context.clusters, context.runs_folder, local_ranks=5)
    with transaction(engine) as db:
        creation.create(db, experiment({"seed": [0, 1, 2]}))
    submit_queued(small)
    assert states(small) == [State.PENDING, State.PENDING, State.QUEUED]
    narrow = Context(engine, context.clusters, context.runs_folder, local_ranks=1)
    with transaction(engine) as db:
        for run in runs.in_state(db, State.PENDING):
            move(db, run, State.DONE)
    submit_queued(narrow)
    assert states(narrow)[2] == State.PENDING


def test_a_run_for_an_absent_cluster_stays_queued(context: Context, experiment: Experiment) -> None:
    with transaction(context.engine) as db:
        creation.create(db, experiment(resources={"kind": "slurm", "ranks_per_node": 2}))
    submit_queued(context)
    with snapshot(context.engine) as db:
        assert runs.in_state(db, State.QUEUED)
