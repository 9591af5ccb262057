"""Jobs: what the service has asked of them, whether their cluster answers, and the attempts that have ended."""

from collections.abc import Sequence

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from store.locks import lock_jobs
from store.tables import Job, Run, now


def write_stop_requests(db: Session, job_ids: Sequence[int], *, force: bool) -> None:
    """Store that the cluster was asked to end, or to kill, these jobs: the first request, and the last kill."""
    at = now()
    change: dict[str, object] = {"stop_requested_at": func.coalesce(Job.stop_requested_at, at)}
    if force:
        change["kill_requested_at"] = at
    _update(db, job_ids, change)


def write_gone(db: Session, job_ids: Sequence[int]) -> None:
    """Store that these jobs have ended."""
    _update(db, job_ids, {"is_gone": True})


def write_reachability(db: Session, unknown: Sequence[int], known: Sequence[int]) -> None:
    """Store since when the cluster gives no answer for the jobs `unknown`, and that it answers for `known` again."""
    locked = lock_jobs(db, Job.id.in_([*unknown, *known]))
    if locked:
        db.execute(update(Job).where(Job.id.in_(unknown), Job.unknown_since.is_(None)).values(unknown_since=now()))
        db.execute(update(Job).where(Job.id.in_(known)).values(unknown_since=None))


def ended_attempts(db: Session, run_id: int) -> Sequence[Job]:
    """Return the jobs of a run whose outcome is decided, oldest first."""
    mine = (Job.run_id == run_id, Job.exit_cause.is_not(None))
    return db.scalars(select(Job).where(*mine).order_by(Job.attempt)).all()


def last_ended_attempts(db: Session, run_ids: Sequence[int]) -> dict[int, Job]:
    """Return the newest job of each run whose outcome is decided."""
    mine = (Job.run_id.in_(run_ids), Job.exit_cause.is_not(None))
    return {job.run_id: job for job in db.scalars(select(Job).where(*mine).order_by(Job.attempt))}


def current(db: Session, run: Run) -> Job | None:
    """Return the run's current job."""
    return db.get(Job, run.current_job_id) if run.current_job_id is not None else None


def _update(db: Session, job_ids: Sequence[int], change: dict[str, object]) -> None:
    locked = lock_jobs(db, Job.id.in_(job_ids))
    db.execute(update(Job).where(Job.id.in_(locked)).values(change).execution_options(synchronize_session=False))
