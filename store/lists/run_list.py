"""Runs as lists show them: the columns that they show and no more, in one query."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from contract.lifecycle.divergence import Diverged
from contract.lifecycle.pending_reason import PendingReason
from contract.lifecycle.reason import Reason
from contract.lifecycle.state import State
from contract.lifecycle.unread import Unread
from store.lists.order import ListOrder
from store.metrics.newest import merge_latest
from store.tables.runs import IS_CURRENT, Job, Run

ROWS = 10  # that are read at once


class ListedRun(NamedTuple):
    """A row of a list. A whole run is mostly its spec, and takes several times as long to read."""

    id: int
    experiment_id: int
    number: int
    step_id: int | None
    values: dict[str, Any]
    state: State
    reason: Reason | None
    not_before: datetime | None
    attempt: int
    cluster: str
    world: int
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    ran_s: float | None
    step: int
    steps: int
    latest: dict[str, float | None]
    archived_at: datetime | None
    left_out: str | None
    objective_value: float | None
    diverged: Diverged | None
    stop_requested_at: datetime | None
    unread: Unread | None
    job: "ListedJob | None"


class ListedJob(NamedTuple):
    """The current job of a listed run."""

    external_id: str | None
    started_at: datetime | None
    is_gone: bool
    pending_reason: PendingReason | None
    pending_detail: str | None
    unknown_since: datetime | None
    stop_requested_at: datetime | None
    kill_requested_at: datetime | None


_RUN = [getattr(Run, name) for name in ListedRun._fields if name != "job"]
_JOB = [getattr(Job, name) for name in ListedJob._fields]


def page(db: Session, *which: ColumnElement[bool], order: ListOrder, limit: int) -> tuple[Sequence[ListedRun], bool]:
    """Return the first `limit` runs for which `which` holds, in `order`, and whether there are more."""
    query = select(*_RUN, Job.id, *_JOB).outerjoin(Job, IS_CURRENT)
    query = query.where(*which, *order.which).order_by(*order.by).limit(limit + 1)
    # some rows at a time, because earlier versions stored megabytes of metrics in one
    rows = [_listed(tuple(row)) for row in db.execute(query.execution_options(yield_per=ROWS))]
    return rows[:limit], len(rows) > limit


def _listed(row: tuple[Any, ...]) -> ListedRun:
    own, job_id, job = row[: len(_RUN)], row[len(_RUN)], row[len(_RUN) + 1 :]
    run = ListedRun._make((*own, None if job_id is None else ListedJob._make(job)))
    return run._replace(latest=merge_latest({}, run.latest))
