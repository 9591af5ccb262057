"""Runs in a test's database: created, submitted, moved and read."""

import math
import threading
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import update
from sqlalchemy.orm import Session

from api.sentences.reason import reason_sentence
from contract.lifecycle.state import State
from scheduler.clusters.cluster import Gone
from scheduler.context import Context
from scheduler.submit.submission import submit_queued
from scheduler.ticks.ingest import ingest
from scheduler.ticks.poll import poll
from store import jobs, runs, transitions
from store.lifecycle import creation
from store.session import snapshot, transaction
from store.tables.clusters import Cluster
from store.tables.experiments import Experiment as Stored
from store.tables.runs import Job, Run
from store.transitions import Transition
from tests.testing.clusters import SLURM, Far
from tests.testing.specs import Experiment
from tests.testing.stored_runs import TO_RUNNING, add_job, find_current_job

IMMEDIATELY = timedelta(0)


def read(context: Context, run_id: int) -> Run:
    """Return a run with its current job."""
    with snapshot(context.engine) as db:
        return db.get_one(Run, run_id, options=[runs.WITH_JOB])


def job_of(context: Context, run_id: int) -> Job:
    """Return the current job of a run."""
    job = read(context, run_id).current_job
    assert job is not None
    return job


def ended_attempts(context: Context, run_id: int) -> Sequence[Job]:
    """Return the jobs of a run whose outcome is decided."""
    with snapshot(context.engine) as db:
        return jobs.ended_attempts(db, run_id)


def sentence(run: Run) -> str | None:
    """Return the reason of a run's state as a person reads it."""
    return None if run.reason is None else reason_sentence(run.reason)


def states(context: Context) -> list[State]:
    """Return the states of all runs, oldest run first."""
    with snapshot(context.engine) as db:
        return [run.state for run in runs.in_state(db, *State)]


def create_runs(
    context: Context, experiment: Experiment, size: int, cap: int | None = None, **base: object
) -> list[int]:
    """Create an experiment of `size` runs on Slurm; return their ids."""
    with transaction(context.engine) as db:
        id_, run_ids = creation.create(db, experiment({"seed": list(range(size))}, resources=SLURM, **base))
        db.get_one(Stored, id_).max_parallel = cap
    return run_ids


def start_job(db: Session, run_id: int, state: State = State.RUNNING, **job_columns: Any) -> Run:
    """Give a queued run its next job and move the run through the legal states to `state`."""
    run = db.get_one(Run, run_id)
    add_job(db, run, **({"external_id": f"job{run_id}"} | job_columns))
    for new in TO_RUNNING[: TO_RUNNING.index(state) + 1]:
        transitions.apply(db, run, None, Transition(new))
    db.flush()
    return run


def move(db: Session, run: Run, new: State, **columns: Any) -> None:
    """Move a run as the scheduler would."""
    transitions.apply(db, run, None, Transition(new), **columns)


def end(context: Context, run_ids: list[int]) -> None:
    """Move pending runs to done."""
    with transaction(context.engine) as db:
        for run_id in run_ids:
            move(db, db.get_one(Run, run_id), State.DONE)


def submit_from_eight(context: Context) -> None:
    """Let eight workers submit the same queued runs at the same moment."""
    barrier = threading.Barrier(8)

    def go() -> None:
        barrier.wait()
        submit_queued(context, math.inf)  # to the end, however long a busy machine takes

    threads = [threading.Thread(target=go) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def poll_now(context: Context) -> None:
    """Poll, whatever the pace is."""
    with transaction(context.engine) as db:
        db.execute(update(Cluster).values(poll_after=None))
    poll(context)


def make_older(context: Context, run_id: int, **by_s: float) -> None:
    """Move moments of a run, or of its current job, into the past."""
    with transaction(context.engine) as db:
        run = db.get_one(Run, run_id)
        job = find_current_job(db, run)
        for name, seconds in by_s.items():
            row = run if hasattr(run, name) else job
            setattr(row, name, getattr(row, name) - timedelta(seconds=seconds))


def report_gone(context: Context, far: Far, run_id: int, answer: Gone) -> Run:
    """Let the cluster report that the job of a run has ended; return the run as it is then."""
    far.answers[str(job_of(context, run_id).external_id)] = answer
    poll_now(context)
    ingest(context)
    return read(context, run_id)
