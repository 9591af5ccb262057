"""Submissions that were given up: the reap tick cancels the job that the cluster has after all, from any worker."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from contract.lifecycle.state import State
from scheduler.clusters.cluster import JobHandle, JobRequest, RateLimitedError
from scheduler.clusters.slurm.cluster import Slurm
from scheduler.context import Context, Memory
from scheduler.submit.submission import submit_queued
from scheduler.ticks.reap import SEARCHED_FOR, reap
from scheduler.ticks.recover import recover
from store import jobs, runs
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Job, Run
from tests.testing.clusters import SLURM, Far, Play
from tests.testing.runs import IMMEDIATELY
from tests.testing.specs import Experiment


class Limited(Far):
    """A cluster that has no free call for a cancellation while `has_no_call`; it lists the jobs that it accepted."""

    def __init__(self) -> None:
        super().__init__()
        self.has_no_call, self.searches = True, 0
        self.hidden: set[str] = set()  # names of jobs that the cluster accepts later

    def cancel(self, jobs: Sequence[JobHandle], *, force: bool = False) -> Sequence[JobHandle]:
        if self.has_no_call:
            raise RateLimitedError("scancel was not called: the rate limit of Slurm commands is reached")
        self.searches += 1
        names = {request.name for request in self.jobs.values()} - self.hidden
        listed = [job for job in jobs if job.name in names and job.name not in {name for name, _ in self.cancelled}]
        self.cancelled += [(job.name, force) for job in listed]
        return listed

    def find(self, names: Sequence[str]) -> Mapping[str, str | None]:
        return dict.fromkeys(names)


@pytest.fixture
def far() -> Limited:
    return Limited()


def search_is_due(context: Context, age: timedelta = timedelta(0)) -> None:
    with transaction(context.engine) as db:
        db.execute(update(Job).where(Job.given_up_at.is_not(None)).values(stop_requested_at=None))
        db.execute(update(Job).where(Job.given_up_at.is_not(None)).values(given_up_at=now() - age))


def any_given_up(context: Context) -> bool:
    with snapshot(context.engine) as db:
        return jobs.any_given_up(db)


def test_a_job_whose_cancellation_found_no_call_is_cancelled_by_another_worker(
    far_context: Context, far: Limited, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: sbatch hangs until its submission is given up, no call is free then, and the worker dies."""
    with transaction(far_context.engine) as db:
        creation.create(db, experiment(resources=SLURM))
    submit = far.submit

    def hang(job: JobRequest) -> str:
        job_id = submit(job)
        recover(replace(far_context, memory=Memory()), IMMEDIATELY)
        return job_id

    monkeypatch.setattr(far, "submit", hang)
    submit_queued(far_context)
    ((_, first),) = far.jobs.items()
    other = replace(far_context, memory=Memory())
    reap(other)
    assert far.cancelled == []
    far.has_no_call = False
    reap(other)
    reap(other)
    assert (far.cancelled, far.searches) == ([(first.name, False)], 1), "the database says when to search again"
    search_is_due(other, SEARCHED_FOR + timedelta(seconds=1))
    reap(other)
    assert (far.cancelled, any_given_up(other)) == ([(first.name, False)], False)
    with snapshot(far_context.engine) as db:
        (run,) = runs.in_state(db, *State)
    assert (run.state, run.attempt) == (State.QUEUED, 1)
    monkeypatch.setattr(far, "submit", submit)
    with transaction(far_context.engine) as db:
        db.execute(update(Run).values(not_before=None))
    submit_queued(other)
    reap(other)
    assert (len(far.jobs), far.cancelled) == (2, [(first.name, False)]), "the next attempt's job is not touched"


def test_a_job_that_the_cluster_accepts_after_its_worker_died_is_cancelled(
    far_context: Context, far: Limited, experiment: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forces the fault: a worker dies in sbatch, and the controller accepts the job after the search for it."""
    with transaction(far_context.engine) as db:
        creation.create(db, experiment(resources=SLURM))
    submit = far.submit

    def die(job: JobRequest) -> str:
        far.hidden = {job.name}
        submit(job)
        raise ConnectionError("the worker dies here")

    monkeypatch.setattr(far, "submit", die)
    submit_queued(far_context)
    other, far.has_no_call = replace(far_context, memory=Memory()), False
    recover(other, IMMEDIATELY)
    reap(other)
    assert (far.cancelled, far.searches, any_given_up(other)) == ([], 1, True)
    (name,) = far.hidden
    far.hidden = set()
    search_is_due(other)
    reap(other)
    assert far.cancelled == [(name, False)]


def test_a_handle_without_an_id_cancels_the_job_of_its_name(play: Play, tmp_path: Path) -> None:
    play("squeue", 'echo "7|another"; echo "8|mine"')
    play("scancel", f'echo "$@" >> {tmp_path}/calls')
    assert Slurm().cancel([JobHandle("", "mine"), JobHandle("", "absent")]) == [JobHandle("", "mine")]
    assert (tmp_path / "calls").read_text() == "8\n"
