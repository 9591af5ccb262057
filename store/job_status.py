"""Job status: which jobs a poll asks about, and what their cluster reported, many in a statement."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import bindparam, or_, select, update
from sqlalchemy.orm import Session

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import JobEnd
from contract.lifecycle.pending_reason import PendingReason
from contract.lifecycle.state import ENDED, LIVE, State
from store import changes
from store.tables.base import now
from store.tables.clusters import Cluster
from store.tables.runs import IS_CURRENT, JOB_END, Job, Run

LIMIT = 20_000
LONGEST = timedelta(minutes=1)  # no poll is put off for longer


class RunKey(NamedTuple):
    """The parts of a run that name its folder."""

    id: int
    key: str


class PolledJob(NamedTuple):
    """The columns of a job and its run that a poll needs."""

    id: int
    run_id: int
    key: str
    attempt: int
    external_id: str
    name: str
    pack_member: int | None
    moved_at: datetime
    stop_requested_at: datetime | None
    pending_reason: PendingReason | None
    pending_detail: str | None
    unknown_since: datetime | None
    reported_cause: ExitCause | None

    @property
    def run(self) -> RunKey:
        return RunKey(self.run_id, self.key)


class Observation(NamedTuple):
    """What a poll stores of one job."""

    job_id: int
    pending_reason: PendingReason | None = None
    pending_detail: str | None = None
    unknown_since: datetime | None = None
    observed_end: JobEnd | None = None
    observed_cause: ExitCause | None = None
    observed_at: datetime | None = None
    hosts: Sequence[str] = ()  # of a job of which a host failed


def start_poll(db: Session, cluster: str, until: datetime) -> bool:
    """Reserve the next poll of `cluster` and allow no other before `until`; return False if it is not time yet."""
    # a clock that was set back must not stop all polls
    due = or_(Cluster.poll_after.is_(None), Cluster.poll_after <= now(), Cluster.poll_after > now() + LONGEST)
    mine = update(Cluster).where(Cluster.kind == cluster, due).values(poll_after=until)
    if db.scalar(mine.returning(Cluster.kind)) is not None:
        return True
    return db.get(Cluster, cluster) is None  # the cluster has no report yet


def delay_poll(db: Session, cluster: str, until: datetime) -> None:
    """Allow no poll of `cluster` before `until`."""
    db.execute(update(Cluster).where(Cluster.kind == cluster).values(poll_after=until))


def open_jobs(db: Session, cluster: str) -> list[PolledJob]:
    """Return the current jobs on `cluster` that have not been seen to end: of live, ended and retried runs."""
    mine = (
        *(Job.cluster == cluster, Job.is_gone.is_(False), Job.external_id.is_not(None), Job.observed_end.is_(None)),
        Run.state.in_([*LIVE, *ENDED, State.QUEUED]),
    )
    columns = (
        *(Job.id, Run.id, Run.key, Job.attempt, Job.external_id, Job.name, Job.pack_member, Run.moved_at),
        *(Job.stop_requested_at, Job.pending_reason, Job.pending_detail, Job.unknown_since, Job.reported_cause),
    )
    query = select(*columns).join(Run, IS_CURRENT).where(*mine).order_by(Job.id).limit(LIMIT)
    return [PolledJob._make(row) for row in db.execute(query)]


def store_observations(db: Session, observations: Sequence[Observation]) -> None:
    """Store what a poll observed; an end that is stored already stays, for a slower poll may bring an older answer."""
    if not observations:
        return
    in_order = sorted(observations, key=lambda one: one.job_id)  # as all transactions lock jobs (store/locks.py)
    table = Job.__table__
    names = [name for name in Observation._fields if name not in ("job_id", "hosts")]
    change: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names} | {"is_gone": bindparam("new_is_gone")}
    change["observed_end"] = bindparam("new_observed_end", type_=JOB_END)
    rows = [
        {"job": one.job_id, "new_is_gone": one.observed_end is not None}
        | {f"new_{name}": getattr(one, name) for name in names}
        for one in in_order
    ]
    open_job = (table.c.id == bindparam("job"), table.c.observed_end.is_(None))
    statement = update(table).where(*open_job).values(change)  # type: ignore[arg-type]  # mypy sees FromClause
    for one in (one for one in in_order if one.hosts):  # the ranks had no time to report them
        unstarted = select(Run.id).where(Run.current_job_id == one.job_id, Run.state == State.PENDING).exists()
        unended = (Job.id == one.job_id, Job.observed_end.is_(None))
        db.execute(update(Job).where(*unended, unstarted).values(hosts=list(one.hosts)))
    db.connection().execute(statement, rows)
    changes.record_jobs(db, [one.job_id for one in in_order])
