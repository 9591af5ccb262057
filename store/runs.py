"""Runs: created, found, asked to stop, and read on."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import islice
from secrets import token_hex
from typing import Any, NamedTuple, Protocol

from sqlalchemy import ColumnElement, func, insert, or_, select, update
from sqlalchemy.orm import Session, defer, joinedload, selectinload

from contract.folder.bounds import MAX_SERIES
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.job_end import JobEnd
from contract.lifecycle.pending_reason import PendingReason
from contract.lifecycle.reason import StopSource
from contract.lifecycle.state import ENDED, LIVE, State
from contract.spec.any_run import AnyRun
from contract.spec.experiment import ExperimentSpec
from contract.spec.grid.grid import Values
from store.lifecycle import tags
from store.locks import lock_runs
from store.run_table.spec_fields import add_experiment_fields, add_run_fields, base_of
from store.tables import IS_CURRENT, Experiment, Job, Run, now
from store.transitions import queued_with_stop_request, record_created

WITH_JOB = joinedload(Run.current_job)
WITHOUT_SPEC = defer(Run.spec)  # reading thousands of specs takes most of such a query's time
IS_OPEN = (Job.external_id.is_not(None), Job.is_gone.is_(False))  # the cluster has the job, as far as is known


def create(
    db: Session, spec: ExperimentSpec, *, key: str | None = None, owner: str = "", origin_id: int | None = None
) -> tuple[int, list[int]]:
    """Store an experiment and one queued run per point; return their ids. A `key` can be used once.

    `owner` counts where the spec names none.
    """
    experiment = Experiment(
        name=spec.name,
        description=spec.description,
        spec=spec.model_dump(mode="json"),
        max_parallel=spec.max_parallel,
        pack=spec.pack,
        key=key,
        notes=spec.notes,
        owner=owner if spec.owner is None else spec.owner,
        project=spec.project,
        origin_id=origin_id,
    )
    db.add(experiment)
    db.flush()
    add_experiment_fields(db, experiment)
    tags.store_experiment_tags(db, experiment.id, present=(), wanted=spec.tags)
    return experiment.id, insert_runs(db, experiment.id, spec.points(), first=0)


def insert_runs(db: Session, experiment_id: int, points: Sequence[tuple[Values, AnyRun]], *, first: int) -> list[int]:
    """Store a queued run for each point of an experiment, with numbers from `first` on; return their ids."""
    rows: list[dict[str, Any]] = [
        {
            "experiment_id": experiment_id,
            "number": number,
            "key": token_hex(6),  # 100,000 stored runs and 1,000 new ones share a key once in three million times
            "spec": run.model_dump(mode="json"),
            "values": values,
            "cluster": run.resources.kind,
            "need": need_of(run, []),
            "code": run.code if run.kind == "program" else None,
            "queue": queue_of(run),
            "world": run.resources.world,
            "steps": run.steps,
        }
        for number, (values, run) in enumerate(points, first)
    ]
    if not rows:
        return []
    ids = list(db.scalars(insert(Run).returning(Run.id, sort_by_parameter_order=True), rows))
    record_created(db, ids)
    base = base_of(db.get_one(Experiment, experiment_id))
    add_run_fields(db, base, {run_id: row["spec"] for run_id, row in zip(ids, rows, strict=True)})
    return ids


def need_of(run: AnyRun, excluded: Sequence[str]) -> str:
    """Return a text that is equal for runs whose scripts ask a cluster for the same: they may share a submission."""
    asked: list[Any] = [run.resources.model_dump(mode="json"), run.survives_workers, sorted(excluded)]
    if run.kind == "program":
        container = run.environment.container
        places = [run.working_folder, container.model_dump(mode="json")] if container else []
        asked += [run.launcher, places]
    text = json.dumps(asked, sort_keys=True)
    return sha256(text.encode()).hexdigest()[:16]


def queue_of(run: AnyRun) -> str:
    """Return the partition, account and QOS of the run's jobs: a cluster may limit the number of jobs of each."""
    need = run.resources
    return "/".join(name or "" for name in (need.partition, need.account, need.qos)) if need.kind == "slurm" else ""


def in_state(db: Session, *states: State) -> Sequence[Run]:
    """Return all runs in any of `states` with their current jobs, oldest first."""
    return db.scalars(select(Run).where(Run.state.in_(states)).order_by(Run.id).options(WITH_JOB)).all()


def queued(db: Session, cluster: str, limit: int) -> Sequence[Run]:
    """Return the runs that may go to `cluster` now, oldest first."""
    return db.scalars(select(Run).where(*waiting_for(cluster)).order_by(Run.id).limit(limit)).all()


def waiting_for(cluster: str) -> tuple[ColumnElement[bool], ...]:
    """Return the condition for runs that may go to `cluster` now."""
    due = or_(Run.not_before.is_(None), Run.not_before <= now())
    # a run that somebody asked to go on waits for its last job, so that no run ever has two jobs
    has_job = select(Job.id).where(Job.id == Run.current_job_id, *IS_OPEN).exists()
    return Run.state == State.QUEUED, Run.cluster == cluster, Run.stop_requested_at.is_(None), due, ~has_job


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


_LIVE_COLUMNS = (
    *(Run.id, Run.key, Run.cluster, Run.state, Run.attempt, Run.cursor, Job.id, Job.name, Job.external_id),
    *(Job.pack_member, Job.unknown_since, Job.pending_reason, Job.observed_end, Job.observed_cause, Job.observed_at),
    *(Job.reported_cause, Run.rank_cursors),
)


def live(db: Session, *, ended_after: datetime) -> list[LiveRun]:
    """Return live runs, and runs that ended after `ended_after`: a slow file system may still show their last lines."""
    query = select(*_LIVE_COLUMNS).join(Job, IS_CURRENT)
    running = db.execute(query.where(Run.state.in_(LIVE))).all()
    # a query of its own, so that each uses its index
    # and without the state, which an ended run never leaves: SQLite would read all ended runs by their state
    just_ended = (Run.ended_at > ended_after, Job.external_id.is_not(None))
    rows = [*running, *db.execute(query.where(*just_ended))]
    return sorted((LiveRun._make(row) for row in rows), key=lambda run: run.id)


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
    return len(locked)


_READ_COLUMNS = (Run.id, Run.cursor, Run.attempt, Run.rank_cursors)


class Advance(NamedTuple):
    """How far a run's files were read: the next bytes, the newest value of every series, the newest step."""

    run: LiveRun
    cursor: int
    latest: dict[str, float | None]
    step: int
    rank_cursors: Mapping[str, int] = {}


def advance(db: Session, several: Sequence[Advance]) -> set[int]:
    """Store how far runs were read; return the runs that no other worker has read meanwhile. Read no whole row."""
    by_id = {one.run.id: one for one in several}
    query = select(*_READ_COLUMNS, Run.latest, Run.step).where(Run.id.in_(by_id)).order_by(Run.id)
    rows = [row for row in db.execute(query.with_for_update(key_share=True)) if _is_as_read(row, by_id[row.id].run)]
    changes = [
        {
            "id": row.id,
            "cursor": by_id[row.id].cursor,
            "rank_cursors": dict(by_id[row.id].rank_cursors),
            "latest": merge_latest(row.latest, by_id[row.id].latest),
            "step": max(row.step, by_id[row.id].step),
        }
        for row in rows
    ]
    if changes:
        db.execute(update(Run), changes)
    return {row.id for row in rows}


def merge_latest(stored: Mapping[str, float | None], new: Mapping[str, float | None]) -> dict[str, float | None]:
    """Return the newest values of a run's series; values of new series beyond MAX_SERIES are left out."""
    room = max(0, MAX_SERIES - len(stored))
    added = islice((item for item in new.items() if item[0] not in stored), room)
    return {name: new.get(name, value) for name, value in stored.items()} | dict(added)


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
