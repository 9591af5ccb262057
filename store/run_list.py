"""Runs as lists show them: the columns that they show and no more, in one query."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, UnaryExpression, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from store.tables import Run


class ListedRun(NamedTuple):
    """A row of a list; a whole run is its spec above all, and takes several times as long to read."""

    id: int
    experiment_id: int
    number: int
    values: dict[str, Any]
    state: str
    reason: str | None
    waits_for: str | None
    waits_kind: str | None
    not_before: datetime | None
    attempt: int
    job_id: str | None
    job_gone: bool
    cluster: str
    unknown_since: datetime | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    step: int
    steps: int
    latest: dict[str, float | None]
    stop_wanted_at: datetime | None
    stop_asked_at: datetime | None
    stop_forced_at: datetime | None


def page(
    db: Session, *which: ColumnElement[bool], by: InstrumentedAttribute[int] | UnaryExpression[int], limit: int
) -> tuple[Sequence[ListedRun], bool]:
    """The first `limit` runs of which all of `which` is true, in the order `by`; True when there are more."""
    columns = [getattr(Run, name) for name in ListedRun._fields]
    rows = db.execute(select(*columns).where(*which).order_by(by).limit(limit + 1)).all()
    return [ListedRun(*row) for row in rows[:limit]], len(rows) > limit
