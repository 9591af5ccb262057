"""Attempts: how each job that carried a run ended."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.spec.retry import Cause
from store.tables import Attempt, Run, now


def note(run: Run, cause: Cause, reason: str | None) -> None:
    """Keep how the present attempt ended; told twice, the later word counts."""
    told = next((attempt for attempt in run.tried if attempt.number == run.attempt), None)
    if told is None:
        run.tried.append(told := Attempt(number=run.attempt))
    told.job_id, told.step, told.ended_at, told.cause = run.job_id, run.step, now(), cause
    told.reason, told.hosts = reason, run.hosts


def times(run: Run, cause: Cause) -> int:
    """How many attempts before the present one ended for that cause."""
    return len(_before(run, cause))


def latest_step(run: Run, cause: Cause) -> int | None:
    """How far the latest attempt before the present one came that ended for that cause."""
    return max(((attempt.number, attempt.step) for attempt in _before(run, cause)), default=(0, None))[1]


def last_of(db: Session, run_ids: Sequence[int]) -> dict[int, Attempt]:
    """The last attempt of each run that has ended."""
    rows = db.scalars(select(Attempt).where(Attempt.run_id.in_(run_ids)).order_by(Attempt.number))
    return {row.run_id: row for row in rows}


def of_run(db: Session, run_id: int) -> Sequence[Attempt]:
    return db.scalars(select(Attempt).where(Attempt.run_id == run_id).order_by(Attempt.number)).all()


def _before(run: Run, cause: Cause) -> list[Attempt]:
    return [attempt for attempt in run.tried if attempt.cause == cause and attempt.number < run.attempt]
