"""Runs: found, asked to stop, and read on."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from sqlalchemy import ColumnElement, func, or_, select, update
from sqlalchemy.orm import Session, defer, joinedload, selectinload

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import JobEnd
from contract.lifecycle.pending_reason import PendingReason
from contract.lifecycle.reason import StopSource
from contract.lifecycle.reuse import Reuse
from contract.lifecycle.state import ENDED, LIVE, State
from contract.lifecycle.unread import Unread
from store import changes
from store.locks import lock_runs
from store.metrics.newest import merge_latest
from store.run_table.spec_fields import replace_run_fields
from store.tables.base import now
from store.tables.runs import IS_CURRENT, Job, Run
from store.transitions import queued_with_stop_request

WITH_JOB = joinedload(Run.current_job)
WITHOUT_SPEC = defer(Run.spec)  # reading thousands of specs takes most of such a query's time
IS_OPEN = (Job.external_id.is_not(None), Job.is_gone.is_(False))  # the cluster has the job, as far as is known


def change_spec(db: Session, run_id: int, spec: Mapping[str, Any]) -> None:
    """Store another spec of a locked run, and its fields by which the table of runs filters.

    Nothing else writes the spec of a stored run. The caller changes the columns that follow from the spec.
    """
    run = db.get_one(Run, run_id)
    run.spec = dict(spec)
    replace_run_fields(db, run)


def find(db: Session, run_id: int) -> Run | None:
    """Return a run with its job; None if there is none, or if it is deleted."""
    run = db.get(Run, run_id, options=[WITH_JOB])
    return None if run is None or run.deleted_at is not None else run


def in_state(db: Session, *states: State) -> Sequence[Run]:
    """Return all runs in any of `states` with their current jobs, oldest first."""
    return db.scalars(select(Run).where(Run.state.in_(states)).order_by(Run.id).options(WITH_JOB)).all()


def queued(db: Session, cluster: str, limit: int) -> Sequence[Run]:
    """Return the runs that may go to `cluster` now, oldest first."""
    return db.scalars(select(Run).where(*waiting_for(cluster)).order_by(Run.id).limit(limit)).all()


def waiting_for(cluster: str) -> tuple[ColumnElement[bool], ...]:
    """Return the condition for runs that may go to `cluster` now."""
    # a clock that was set back makes no retry wait
    due = or_(Run.not_before.is_(None), Run.not_before <= now(), Run.moved_at > now())
    # a run that somebody asked to go on waits for its last job, so that no run ever has two jobs
    has_job = select(Job.id).where(Job.id == Run.current_job_id, *IS_OPEN).exists()
    # a run that asks for a finished run's result waits for the tick `reuse`
    may_run = or_(Run.reuse.is_(None), Run.reuse == Reuse.CHECKED)
    return Run.state == State.QUEUED, Run.cluster == cluster, Run.stop_requested_at.is_(None), due, ~has_job, may_run


class LiveRun(NamedTuple):
    """The columns of a live run and its job that every ingest tick needs: ten thousand of them are read quickly."""

    id: int
    key: str
    cluster: str
    state: State
    attempt: int
    cursor: int
    job_id: int
    name: str
    external_id: str | None
    pack_member: int | None
    unknown_since: datetime | None
    pending_reason: PendingReason | None
    observed_end: JobEnd | None
    observed_cause: ExitCause | None
    observed_at: datetime | None
    reported_cause: ExitCause | None
    rank_cursors: Mapping[str, int]
    unread: Unread | None = None


_LIVE_COLUMNS = (
    *(Run.id, Run.key, Run.cluster, Run.state, Run.attempt, Run.cursor, Job.id, Job.name, Job.external_id),
    *(Job.pack_member, Job.unknown_since, Job.pending_reason, Job.observed_end, Job.observed_cause, Job.observed_at),
    *(Job.reported_cause, Run.rank_cursors, Run.unread),
)


def live(db: Session, *, ended_after: datetime) -> list[LiveRun]:
    """Return live runs, and runs whose end was stored after `ended_after`: a slow file system may still show lines."""
    query = select(*_LIVE_COLUMNS).join(Job, IS_CURRENT)
    running = db.execute(query.where(Run.state.in_(LIVE))).all()
    # a query of its own, so that each uses its index
    # and without the state, which an ended run never leaves: SQLite would read all ended runs by their state
    just_ended = (Run.ended_at.is_not(None), Run.moved_at > ended_after, Job.external_id.is_not(None))
    rows = [*running, *db.execute(query.where(*just_ended))]
    return sorted((LiveRun._make(row) for row in rows), key=lambda run: run.id)


class ReadRun(NamedTuple):
    """How far the files of a run's folder are stored."""

    id: int
    key: str
    experiment_id: int
    cursor: int
    rank_cursors: Mapping[str, int]


def read_lately(db: Session, *, ended_after: datetime) -> list[ReadRun]:
    """Return live and paused runs, and those whose end was stored after `ended_after`, oldest first."""
    query = select(Run.id, Run.key, Run.experiment_id, Run.cursor, Run.rank_cursors)
    # queries of their own, so that each uses its index
    live = db.execute(query.where(Run.state.in_([*LIVE, State.PAUSED]))).all()
    ended = db.execute(query.where(Run.ended_at.is_not(None), Run.moved_at > ended_after)).all()
    return [ReadRun._make(row) for row in sorted({row.id: row for row in (*live, *ended)}.values())]


def stop_requested(db: Session) -> Sequence[Run]:
    """Return live runs that were asked to stop and whose job has not been seen to end, with their jobs."""
    asked = (Run.state.in_(LIVE), Run.stop_requested_at.is_not(None), Job.observed_end.is_(None))
    query = select(Run).join(Job, IS_CURRENT).where(*asked).order_by(Run.id)
    return db.scalars(query.options(WITH_JOB, WITHOUT_SPEC)).all()


def with_open_jobs(db: Session, limit: int) -> Sequence[Run]:
    """Return runs that need their job no more, and whose job has not been seen to end, oldest first, with their jobs.

    They ended or paused, or somebody asked for their next attempt.
    """
    left = (Run.state.in_([*ENDED, State.PAUSED, State.QUEUED]), *IS_OPEN)
    query = select(Run).join(Job, IS_CURRENT).where(*left).order_by(Run.id).limit(limit)
    return db.scalars(query.options(WITH_JOB, WITHOUT_SPEC)).all()


def request_stop(db: Session, which: ColumnElement[bool], source: StopSource = StopSource.USER) -> int:
    """Ask the runs of `which` to stop; return how many had not ended. The scheduler carries the request out."""
    going = (which, Run.state.not_in(ENDED))
    locked = lock_runs(db, *going)
    # a person's request is stronger than that of a shutdown, after which the run goes on
    by = source if source is StopSource.USER else func.coalesce(Run.stop_source, source)
    request = {"stop_requested_at": func.coalesce(Run.stop_requested_at, now()), "stop_source": by}
    db.execute(update(Run).where(*going).values(request))
    changes.record_runs(db, locked)
    return len(locked)


_READ_COLUMNS = (Run.id, Run.cursor, Run.attempt, Run.rank_cursors)


class Advance(NamedTuple):
    """How far a run's files were read: the next bytes, the newest values that changed, the newest step."""

    run: LiveRun
    cursor: int
    latest: dict[str, float | None]
    step: int
    rank_cursors: Mapping[str, int] = {}


class Progress(NamedTuple):
    """How far a run had come before its files were read."""

    latest: dict[str, float | None]
    step: int


def lock_progress(db: Session, read: Sequence[LiveRun]) -> dict[int, Progress]:
    """Lock these runs, without those that another worker has read meanwhile; return their progress, not whole rows."""
    seen = {run.id: run for run in read}
    query = select(*_READ_COLUMNS, Run.latest, Run.step).where(Run.id.in_(seen)).order_by(Run.id)
    rows = db.execute(query.with_for_update(key_share=True))
    return {row.id: Progress(row.latest, row.step) for row in rows if _is_as_read(row, seen[row.id])}


def advance(db: Session, several: Sequence[Advance], before: Mapping[int, Progress]) -> None:
    """Store how far runs were read that `lock_progress` has locked."""
    rows = [
        {
            "id": one.run.id,
            "cursor": one.cursor,
            "rank_cursors": dict(one.rank_cursors),
            "latest": merge_latest(before[one.run.id].latest, one.latest),
            "step": max(before[one.run.id].step, one.step),
        }
        for one in several
    ]
    if rows:
        db.execute(update(Run), rows)


def lock_as_read(db: Session, read: Sequence[LiveRun]) -> dict[int, Run]:
    """Lock these runs and load them with all their jobs, except the runs that another worker has read meanwhile."""
    seen = {run.id: run for run in read}
    query = select(Run).where(Run.id.in_(seen)).order_by(Run.id).options(selectinload(Run.jobs))
    rows = db.scalars(query.with_for_update(key_share=True))
    return {run.id: run for run in rows if _is_as_read(run, seen[run.id])}


class _Read(Protocol):
    @property
    def attempt(self) -> int: ...
    @property
    def cursor(self) -> int: ...
    @property
    def rank_cursors(self) -> Mapping[str, int]: ...


def _is_as_read(row: _Read, read: LiveRun) -> bool:
    """Return whether no other worker has read the run's files meanwhile, and no attempt has begun."""
    return (row.cursor, row.attempt, row.rank_cursors) == (read.cursor, read.attempt, read.rank_cursors)


def counts(db: Session) -> dict[State, int]:
    """Return the number of runs in each state that has any."""
    rows = db.execute(select(Run.state, func.count()).group_by(Run.state))
    return {row[0]: row[1] for row in rows}


def busy_ranks(db: Session, cluster: str) -> int:
    """Return the number of ranks of the live runs of `cluster`."""
    busy = Run.state.in_([*LIVE, State.SUBMITTING])
    return sum(db.scalars(select(Run.world).where(Run.cluster == cluster, busy)))


def any_queued_stop(db: Session) -> bool:
    """Return whether a queued run was asked to stop."""
    return db.scalar(select(Run.id).where(*queued_with_stop_request()).limit(1)) is not None
