"""How often attempts ended on each node, and the newest attempts that failed there."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select, true
from sqlalchemy.orm import Session

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import Reason
from store.tables.runs import Job, Run

OTHER_FAILURES = (ExitCause.FAILURE, ExitCause.OUT_OF_MEMORY, ExitCause.LOST)
MOST_ATTEMPTS = 100_000  # that are counted, the newest
MOST_FAILURES = 2_000  # that are read with their reasons, of node failures and of others


class EndCount(NamedTuple):
    """Attempts on one node that ended for one cause."""

    cluster: str
    node: str
    cause: ExitCause
    attempts: int


class FailedJob(NamedTuple):
    """An attempt that failed."""

    run_id: int
    attempt: int
    cluster: str
    hosts: list[str]
    cause: ExitCause
    reason: Reason | None
    at: datetime
    excluded: list[str]  # hosts that later attempts of the run leave out


def first_counted(db: Session, since: datetime) -> tuple[datetime, bool]:
    """Return from which moment on attempts are counted, and whether that is `since`."""
    newest = select(Job.ended_at.label("counted_end")).where(Job.ended_at >= since).order_by(Job.ended_at.desc())
    last, *beyond = [*db.scalars(newest.offset(MOST_ATTEMPTS - 1).limit(2)), None, None][:2]
    return (since, True) if last is None or beyond == [None] else (last, False)


def end_counts(db: Session, since: datetime) -> list[EndCount]:
    """Return how many attempts ended since then on each node, by cause; those without known nodes are left out."""
    if db.get_bind().dialect.name == "postgresql":
        node = func.json_array_elements_text(Job.hosts).table_valued("value").lateral()
    else:
        node = func.json_each(Job.hosts).table_valued("value")
    name = node.c.value
    count = func.count(Job.id.distinct()).label("counted_ends")  # an engine names a host once for each of its ranks
    rows = db.execute(
        select(Job.cluster, name, Job.exit_cause, count)
        .select_from(Job)
        .join(node, true())
        .where(Job.ended_at >= since, Job.exit_cause.is_not(None))
        .group_by(Job.cluster, name, Job.exit_cause)
    )
    return [EndCount(cluster, str(host), cause, number) for cluster, host, cause, number in rows if cause]


def failed_jobs(db: Session, since: datetime) -> tuple[list[FailedJob], list[FailedJob]]:
    """Return the newest node failures and the newest failures of other causes since then, each newest first."""
    return _newest(db, since, [ExitCause.NODE_FAILURE]), _newest(db, since, OTHER_FAILURES)


def _newest(db: Session, since: datetime, causes: Sequence[ExitCause]) -> list[FailedJob]:
    columns = (Job.run_id, Job.attempt, Job.cluster, Job.hosts, Job.exit_cause, Job.exit_reason, Job.ended_at)
    rows = db.execute(
        select(*columns, Run.excluded)
        .join(Run, Run.id == Job.run_id)
        .where(Job.ended_at >= since, Job.exit_cause.in_(causes), Run.deleted_at.is_(None))
        .order_by(Job.ended_at.desc(), Job.id.desc())
        .limit(MOST_FAILURES)
    )
    return [
        FailedJob(run_id, attempt, cluster, hosts, cause, reason, at, excluded)
        for run_id, attempt, cluster, hosts, cause, reason, at, excluded in rows
        if cause and at  # the query selects ended attempts
    ]
