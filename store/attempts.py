"""Attempts: how each job that carried a run ended."""

from collections.abc import Sequence

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from contract.retries import Cause
from store.tables import Attempt, Run, now


def note(db: Session, run: Run, cause: Cause, reason: str | None) -> None:
    """Keep how the present attempt ended; told twice, the later word counts."""
    fields = {"run_id": run.id, "number": run.attempt, "job_id": run.job_id, "step": run.step}
    db.merge(Attempt(**fields, ended_at=now(), cause=cause, reason=reason, hosts=run.hosts))


def times(db: Session, run: Run, cause: Cause) -> int:
    """How many attempts before the present one ended for that cause."""
    query = select(func.count()).where(Attempt.run_id == run.id, Attempt.cause == cause, Attempt.number < run.attempt)
    return db.scalar(query) or 0


def latest_step(db: Session, run: Run, cause: Cause) -> int | None:
    """How far the latest attempt before the present one came that ended for that cause."""
    mine = (Attempt.run_id == run.id, Attempt.cause == cause, Attempt.number < run.attempt)
    return db.scalar(select(Attempt.step).where(*mine).order_by(Attempt.number.desc()).limit(1))


def last_of(db: Session, run_ids: Sequence[int]) -> dict[int, Attempt]:
    """The last attempt of each run that has ended."""
    rows = db.scalars(select(Attempt).where(Attempt.run_id.in_(run_ids)).order_by(Attempt.number))
    return {row.run_id: row for row in rows}


def of_run(db: Session, run_id: int) -> Sequence[Attempt]:
    return db.scalars(select(Attempt).where(Attempt.run_id == run_id).order_by(Attempt.number)).all()
