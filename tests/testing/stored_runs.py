"""Rows of runs and jobs, changed as the scheduler would change them."""

from typing import Any

from sqlalchemy.orm import Session

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import FreeText, Reason
from contract.lifecycle.state import ENDED, State
from store import transitions
from store.tables.base import now
from store.tables.runs import Job, Run
from store.transitions import Transition

TO_RUNNING = (State.SUBMITTING, State.PENDING, State.RUNNING)


def add_job(db: Session, run: Run, **columns: Any) -> Job:
    """Give a run its next job, which becomes the current one."""
    run.attempt += 1
    job = Job(run_id=run.id, attempt=run.attempt, name=f"bigbatch-{run.key}-{run.attempt}", cluster=run.cluster)
    for name, value in ({"external_id": str(4_200 + run.id)} | columns).items():
        setattr(job, name, value)
    db.add(job)
    db.flush()
    run.current_job_id = job.id
    db.flush()
    db.refresh(run)
    return job


def move(db: Session, run: Run, new: State, reason: Reason | str | None = None, **columns: Any) -> None:
    """Move a run to `new`; a run that enters its submission gets a job."""
    if new is State.SUBMITTING:
        add_job(db, run)
    typed = FreeText(text=reason) if isinstance(reason, str) else reason
    job = find_current_job(db, run)
    if new is State.RUNNING and job is not None:
        job.started_at = now()
    if new in (*ENDED, State.PAUSED) and job is not None and job.started_at and job.ran_s is None:
        job.ran_s = (now() - job.started_at).total_seconds()
    transitions.apply(db, run, job, Transition(new, typed), **columns)
    db.flush()


def find_current_job(db: Session, run: Run) -> Job | None:
    """Return the current job of a run, None where it has none."""
    return db.get(Job, run.current_job_id) if run.current_job_id is not None else None


def current_job(db: Session, run: Run) -> Job:
    """Return the current job of a run that has one."""
    job = find_current_job(db, run)
    assert job is not None
    return job


def end_attempt(db: Session, run: Run, cause: ExitCause, reason: str | None) -> Job:
    """Store the outcome of the current job."""
    job = current_job(db, run)
    job.exit_cause, job.exit_reason = cause, FreeText(text=reason) if reason else None
    job.exit_step, job.ended_at = run.step, now()
    job.ran_s = None if job.started_at is None else (job.ended_at - job.started_at).total_seconds()
    db.flush()
    return job
