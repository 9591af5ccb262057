"""Jobs: what the service has asked of them, whether their cluster answers, and the attempts that have ended."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session

from store import changes
from store.locks import lock_jobs
from store.tables.base import now
from store.tables.runs import Job


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


def write_manual_job(db: Session, job_id: int, *, refused: str, manual: str) -> None:
    """Store that a job which a person has started carries the attempt out, in the place of the job `refused`."""
    locked = lock_jobs(db, Job.id == job_id, Job.external_id == refused)
    db.execute(update(Job).where(Job.id.in_(locked)).values(external_id=manual))
    changes.record_jobs(db, locked)


def write_reachability(db: Session, unknown: Sequence[int], known: Sequence[int]) -> None:
    """Store since when the cluster gives no answer for the jobs `unknown`, and that it answers for `known` again."""
    locked = lock_jobs(db, Job.id.in_([*unknown, *known]))
    if locked:
        db.execute(update(Job).where(Job.id.in_(unknown), Job.unknown_since.is_(None)).values(unknown_since=now()))
        db.execute(update(Job).where(Job.id.in_(known)).values(unknown_since=None))
        changes.record_jobs(db, locked)


def write_given_up(db: Session, name: str) -> None:
    """Store that a submission was given up: if its cluster has a job of that name after all, nobody wants the job."""
    locked = lock_jobs(db, Job.name == name, Job.external_id.is_(None))
    change = update(Job).where(Job.id.in_(locked)).values(given_up_at=now(), stop_requested_at=None)
    db.execute(change.execution_options(synchronize_session=False))


def runs_by_name(db: Session, names: Collection[str]) -> dict[str, int | None]:
    """Return the names that are submissions of this service, each with its run, or None if it has several."""
    query = select(Job.name, func.count(), func.min(Job.run_id)).where(Job.name.in_(names)).group_by(Job.name)
    return {name: run_id if count == 1 else None for name, count, run_id in db.execute(query)}


def runs_by_job(db: Session, names: Collection[str], external_ids: Collection[str]) -> dict[str, int]:
    """Return the run of each of the cluster's ids that carries one run alone, among the submissions `names`.

    An array of many runs has an id for each of its tasks, such as 4219_3.
    """
    which = (Job.name.in_(names), Job.external_id.in_(external_ids))
    query = select(Job.external_id, func.min(Job.run_id)).where(*which).group_by(Job.external_id)
    return {str(job_id): run_id for job_id, run_id in db.execute(query.having(func.count() == 1))}


def any_given_up(db: Session) -> bool:
    """Return whether a submission that was given up may still have a job."""
    return db.scalar(select(Job.id).where(*_given_up()).limit(1)) is not None


def begin_search(db: Session, cluster: str, apart: timedelta) -> dict[str, datetime]:
    """Return the submissions given up on `cluster` for which no worker has searched within `apart`, and since when.

    The search counts as begun now.
    """
    at = now()
    asked = Job.stop_requested_at  # later than now after the clock was set back
    is_due = or_(asked.is_(None), asked <= at - apart, asked > at)
    locked = lock_jobs(db, *_given_up(), Job.cluster == cluster, is_due)
    if not locked:
        return {}
    _update(db, locked, {"stop_requested_at": at})
    rows = db.execute(select(Job.name, Job.given_up_at).where(Job.id.in_(locked)))
    return {name: given_up_at for name, given_up_at in rows if given_up_at}


def repeat_search(db: Session, names: Sequence[str]) -> None:
    """Store that the search for these submissions that were given up was not made."""
    _update(db, lock_jobs(db, *_given_up(), Job.name.in_(names)), {"stop_requested_at": None})


def end_search(db: Session, names: Sequence[str]) -> None:
    """Store that the cluster has no job of these submissions that were given up."""
    _update(db, lock_jobs(db, *_given_up(), Job.name.in_(names)), {"given_up_at": None})


def ended_attempts(db: Session, run_id: int) -> Sequence[Job]:
    """Return the jobs of a run whose outcome is decided, oldest first."""
    mine = (Job.run_id == run_id, Job.exit_cause.is_not(None))
    return db.scalars(select(Job).where(*mine).order_by(Job.attempt)).all()


def last_ended_attempts(db: Session, run_ids: Sequence[int]) -> dict[int, Job]:
    """Return the newest job of each run whose outcome is decided."""
    mine = (Job.run_id.in_(run_ids), Job.exit_cause.is_not(None))
    return {job.run_id: job for job in db.scalars(select(Job).where(*mine).order_by(Job.attempt))}


def _given_up() -> tuple[ColumnElement[bool], ...]:
    return Job.given_up_at.is_not(None), Job.external_id.is_(None)


def _update(db: Session, job_ids: Sequence[int], change: dict[str, object]) -> None:
    locked = lock_jobs(db, Job.id.in_(job_ids))
    db.execute(update(Job).where(Job.id.in_(locked)).values(change).execution_options(synchronize_session=False))
    changes.record_jobs(db, locked)
