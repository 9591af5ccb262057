"""Outages of an object store: while one lasts, the store is tried from time to time, for all copies together."""

from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from store.insert import insert_into
from store.tables.base import now
from store.tables.mirror import StoreOutage

FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=2), timedelta(minutes=5)


class Outage(NamedTuple):
    """A store that does not work."""

    began_at: datetime
    tries: int
    next_try_at: datetime
    problem: str


def find(db: Session, url: str) -> Outage | None:
    """Return the outage of a store; None if its last try was a success."""
    columns = (StoreOutage.began_at, StoreOutage.tries, StoreOutage.next_try_at, StoreOutage.problem)
    row = db.execute(select(*columns).where(StoreOutage.url == url)).one_or_none()
    return None if row is None else Outage._make(row)


def record(db: Session, url: str, problem: str) -> None:
    """Store that a try failed: the next one comes later."""
    before = find(db, url)
    tries = 0 if before is None else before.tries
    change = {"tries": tries + 1, "next_try_at": now() + wait_after(tries), "problem": problem}
    add = insert_into(db, StoreOutage).values(url=url, began_at=now(), **change)
    db.execute(add.on_conflict_do_update(index_elements=["url"], set_=change))


def end(db: Session, url: str) -> None:
    """Store that the store works."""
    db.execute(delete(StoreOutage).where(StoreOutage.url == url))


def wait_after(tries: int) -> timedelta:
    """Return how long to wait after a failure, by the number of failures before it."""
    return min(LONGEST_WAIT, FIRST_WAIT * (1 << min(tries, 16)))
