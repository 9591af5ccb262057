"""Runs in hand: who writes several in one transaction takes them in the order of their ids: nobody waits in a circle.

PostgreSQL locks the rows of an UPDATE in the order in which it comes across them: two that go over the same rows by
different ways would each wait for what the other has. In SQLite a writer has the whole database, and this is a query.
"""

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from store.tables import Run


def hold(db: Session, *which: ColumnElement[bool], most: int | None = None) -> list[int]:
    """Lock the runs of which all of `which` is true once they are ours, at most so many; return their ids in order."""
    query = select(Run.id).where(*which).order_by(Run.id).limit(most)
    # as an UPDATE does that leaves keys alone: rows that refer to these are written meanwhile
    return list(db.scalars(query.with_for_update(key_share=True)))
