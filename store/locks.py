"""Locks on runs and jobs, always taken in id order so that transactions never deadlock.

Order: runs by id, then jobs by id. PostgreSQL locks the rows of an UPDATE in scan order, so an UPDATE of several rows
comes after the lock. In SQLite a writer has the whole database, and the lock is a plain query.
"""

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from store.tables.runs import IS_CURRENT, Job, Run


def lock_runs(db: Session, *where: ColumnElement[bool], limit: int | None = None) -> list[int]:
    """Lock the runs for which `where` holds once they are locked, at most `limit`; return their ids in order."""
    query = select(Run.id).where(*where).order_by(Run.id).limit(limit)
    # the lock of an UPDATE that leaves keys alone: other transactions may insert rows that refer to these
    return list(db.scalars(query.with_for_update(key_share=True)))


def lock_submission(db: Session, name: str, *where: ColumnElement[bool]) -> list[int]:
    """Lock the runs whose current job belongs to the submission `name`; return their ids in order."""
    query = select(Run.id).join(Job, IS_CURRENT).where(Job.name == name, *where).order_by(Run.id)
    return list(db.scalars(query.with_for_update(of=Run, key_share=True)))


def lock_jobs(db: Session, *where: ColumnElement[bool]) -> list[int]:
    """Lock the jobs for which `where` holds; return their ids in order."""
    return list(db.scalars(select(Job.id).where(*where).order_by(Job.id).with_for_update(key_share=True)))
