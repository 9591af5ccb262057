"""Changes: which runs and experiments changed, in the order of versions, for readers that follow along.

Each run and each experiment has one row at most, with the version of its newest change. A transaction writes the rows
at its end, all with one version. A reader that has seen all versions below a number asks for those from it on.

On SQLite, which has one writer, the version is a counter. On PostgreSQL transactions commit in another order than they
begin: the version is the id of the transaction, and a reader goes on from the oldest transaction that its snapshot saw
running, so that it never skips one that commits later. It gets some changes again.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import BigInteger, ColumnElement, Text, and_, case, cast, delete, func, or_, select
from sqlalchemy.orm import Session

from contract.lifecycle.state import State
from store.insert import insert_into
from store.tables.base import now
from store.tables.runs import Job, Run
from store.tables.service import Change

KEY = "changes"  # in Session.info
MAX_PARAMETERS = 5_000  # of one statement
MAX_ROWS = 1_000  # that a reader gets at once; beyond, it reads anew what it shows
EXPERIMENT = 0  # in the place of a run: the row is the experiment's own


@dataclass
class _Recorded:
    """What a transaction has changed."""

    points: set[int] = field(default_factory=set)  # ids of runs
    runs: set[int] = field(default_factory=set)
    jobs: set[int] = field(default_factory=set)
    experiments: set[int] = field(default_factory=set)


class ChangedRow(NamedTuple):
    """A run that changed, or with `run_id` 0 an experiment."""

    experiment_id: int
    run_id: int
    version: int
    points_version: int
    details_version: int
    at: datetime
    state: State | None  # None of an experiment, and of a run whose row is removed
    attempt: int | None
    step: int | None


class Changes(NamedTuple):
    """What a reader gets."""

    next: int  # the version from which the reader goes on
    rows: Sequence[ChangedRow]
    is_complete: bool = True  # False: more rows than MAX_ROWS changed


def record_runs(db: Session, run_ids: Iterable[int]) -> None:
    """Record that states, jobs or labels of runs change in this transaction."""
    _recorded(db).runs.update(run_ids)


def record_points(db: Session, run_ids: Iterable[int]) -> None:
    """Record that runs get points in this transaction."""
    _recorded(db).points.update(run_ids)


def record_jobs(db: Session, job_ids: Iterable[int]) -> None:
    """Record that the runs of jobs change in this transaction."""
    _recorded(db).jobs.update(job_ids)


def record_experiment(db: Session, experiment_id: int) -> None:
    """Record that an experiment is new, that its labels change, or that runs are added or removed."""
    _recorded(db).experiments.add(experiment_id)


def write(db: Session) -> None:
    """Write what this transaction has recorded; `store.session.transaction` calls this at its end."""
    recorded: _Recorded | None = db.info.pop(KEY, None)
    if recorded is None:
        return
    db.flush()
    runs = {*recorded.runs, *_runs_of(db, recorded.jobs)}
    owners = _experiments_of(db, {*runs, *recorded.points})
    keys = [(owner, run_id) for run_id, owner in owners.items()]
    keys += [(experiment_id, EXPERIMENT) for experiment_id in recorded.experiments]
    if not keys:
        return
    version, at = _new_version(db), now()
    rows = [
        {
            "experiment_id": experiment_id,
            "run_id": run_id,
            "version": version,
            "points_version": version if run_id in recorded.points else 0,
            "details_version": version if run_id in runs or run_id == EXPERIMENT else 0,
            "at": at,
        }
        for experiment_id, run_id in sorted(keys)  # one order for all transactions: no two wait for each other
    ]
    add = insert_into(db, Change)
    change = {
        "version": add.excluded.version,
        "at": add.excluded.at,
        **{
            name: case((add.excluded[name] > 0, add.excluded[name]), else_=getattr(Change, name))
            for name in ("points_version", "details_version")
        },
    }
    db.execute(add.on_conflict_do_update(index_elements=["experiment_id", "run_id"], set_=change), rows)


def remove_run(db: Session, run_id: int) -> None:
    """Remove the row of a run whose own row is removed next."""
    for owner in _experiments_of(db, [run_id]).values():
        db.execute(delete(Change).where(Change.experiment_id == owner, Change.run_id == run_id))


def remove_experiments(db: Session, ids: Collection[int]) -> None:
    """Remove the rows of experiments that are removed."""
    db.execute(delete(Change).where(Change.experiment_id.in_(ids)))


def position(db: Session) -> int:
    """Return the version from which a reader that has seen everything goes on."""
    return _bounds(db)[0]


def read(db: Session, since: int, which: ColumnElement[bool] | None = None) -> Changes:
    """Return what changed from version `since` on, of all or of `which`, oldest first."""
    following, end = _bounds(db)
    if end <= since:
        return Changes(following, [])
    # rows from `end` on are of transactions that this snapshot does not see, or of another server's backup
    changed = [Change.version >= since, Change.version < end]
    return _rows(db, following, *changed, *([] if which is None else [which]))


def read_recent(db: Session, after: datetime, which: ColumnElement[bool] | None = None) -> Changes:
    """Return what changed after a moment a few seconds ago, of all or of `which`."""
    following, end = _bounds(db)
    newest = select(Change.version).where(Change.version < end).order_by(Change.version.desc())
    oldest = db.scalar(newest.offset(MAX_ROWS).limit(1))  # no index has moments
    changed = [Change.at > after, Change.version < end, *([] if oldest is None else [Change.version >= oldest])]
    return _rows(db, following, *changed, *([] if which is None else [which]))


def state_of(db: Session, experiment_id: int) -> tuple[int, int, int]:
    """Return numbers that differ whenever something of an experiment or its runs has changed between."""
    # on PostgreSQL a transaction that commits late has a smaller version than the largest
    columns = (func.count(), func.coalesce(func.max(Change.version), 0), func.coalesce(func.sum(Change.version), 0))
    count, newest, total = db.execute(select(*columns).where(Change.experiment_id == experiment_id)).one()
    return count, newest, int(total)


def of(experiment_ids: Collection[int], run_ids: Collection[int]) -> ColumnElement[bool]:
    """Return the condition for changes of these experiments, with all their runs, and of these runs."""
    return or_(Change.experiment_id.in_(experiment_ids), Change.run_id.in_(run_ids))


_COLUMNS = (
    *(Change.experiment_id, Change.run_id, Change.version, Change.points_version, Change.details_version, Change.at),
    *(Run.state, Run.attempt, Run.step),
)


def _rows(db: Session, following: int, *which: ColumnElement[bool]) -> Changes:
    mine = and_(Run.id == Change.run_id, Run.deleted_at.is_(None))
    query = select(*_COLUMNS).join(Run, mine, isouter=True).where(*which, Change.experiment_id > 0)
    rows = [ChangedRow._make(row) for row in db.execute(query.order_by(Change.version).limit(MAX_ROWS + 1))]
    return Changes(following, rows[:MAX_ROWS], len(rows) <= MAX_ROWS)


def _bounds(db: Session) -> tuple[int, int]:
    """Return the version from which a reader of this snapshot goes on, and the one below which it sees all others."""
    if db.get_bind().dialect.name == "sqlite":
        counter = select(Change.version).where(Change.experiment_id == 0, Change.run_id == 0)
        following = (db.scalar(counter) or 0) + 1
        return following, following
    seen = func.pg_current_snapshot()
    first, end = db.execute(select(_number(func.pg_snapshot_xmin(seen)), _number(func.pg_snapshot_xmax(seen)))).one()
    return first, end


def _new_version(db: Session) -> int:
    """Return the version of this transaction, which is larger than those of all earlier ones."""
    if db.get_bind().dialect.name != "sqlite":
        return int(db.execute(select(_number(func.pg_current_xact_id()))).scalar_one())
    unset = {"points_version": 0, "details_version": 0, "at": now()}
    add = insert_into(db, Change).values(experiment_id=0, run_id=0, version=1, **unset)
    count = add.on_conflict_do_update(
        index_elements=["experiment_id", "run_id"], set_={"version": Change.version + 1}
    ).returning(Change.version)
    return int(db.execute(count).scalar_one())


def _number(transaction_id: ColumnElement[object]) -> ColumnElement[int]:
    """Return PostgreSQL's 64-bit id of a transaction as a number."""
    return cast(cast(transaction_id, Text), BigInteger)


def _recorded(db: Session) -> _Recorded:
    recorded: _Recorded = db.info.setdefault(KEY, _Recorded())
    return recorded


def _runs_of(db: Session, job_ids: Collection[int]) -> set[int]:
    return {run_id for part in _parts(job_ids) for run_id in db.scalars(select(Job.run_id).where(Job.id.in_(part)))}


def _experiments_of(db: Session, run_ids: Collection[int]) -> dict[int, int]:
    """Return the experiment of each run that has a row."""
    query = select(Run.id, Run.experiment_id)
    return {row[0]: row[1] for part in _parts(run_ids) for row in db.execute(query.where(Run.id.in_(part)))}


def _parts(ids: Collection[int]) -> Iterable[list[int]]:
    ordered = sorted(ids)
    return (ordered[first : first + MAX_PARAMETERS] for first in range(0, len(ordered), MAX_PARAMETERS))
