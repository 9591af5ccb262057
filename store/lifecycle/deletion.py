"""Deletion of experiments and runs: marked at once, so that nothing shows them, and removed in small transactions.

A deletion can be undone until the tick `delete` claims it (`begin_removals`), which it does before it removes a file.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, delete, func, or_, select, update
from sqlalchemy.orm import Session

from contract.lifecycle.artifact import RemovalCause
from contract.lifecycle.state import ENDED
from store import changes
from store.artifacts.artifacts import mark_removed
from store.locks import lock_runs
from store.metrics.figures import remove_figures
from store.metrics.retention import remove_points_of
from store.mirror import copies
from store.notify import divergences, occurrences, rules
from store.run_table.spec_fields import remove_experiment_fields, remove_run_fields
from store.runs import IS_OPEN
from store.search import searches
from store.steps.removal import remove_steps
from store.tables.artifacts import Artifact
from store.tables.base import now
from store.tables.experiments import Experiment, ExperimentTag
from store.tables.mirror import MirrorCopy
from store.tables.points import PointWriter, Series
from store.tables.runs import Job, Move, Restart, Run, RunTag

MOST_NAMED = 100  # runs that an answer names


NO_UNDO = timedelta(0)
# the tick `delete` may be removing the run's files
_IS_BEING_REMOVED = (Run.deleted_at.is_not(None), Run.restorable_until.is_(None))


class DeletedRun(NamedTuple):
    """The columns that name a deleted run's folder, and its place in the order of removals."""

    id: int
    key: str
    deleted_at: datetime


def unended(db: Session, which: ColumnElement[bool]) -> list[int]:
    """Return the first runs of `which` that have not ended."""
    mine = (which, Run.deleted_at.is_(None), Run.state.not_in(ENDED))
    return list(db.scalars(select(Run.id).where(*mine).order_by(Run.id).limit(MOST_NAMED)))


def mark_experiment(db: Session, experiment_id: int, undo: timedelta = NO_UNDO) -> int:
    """Mark an experiment and its runs, which must have ended, as deleted; return the number of runs.

    The deletion can be undone for `undo`.
    """
    # before the runs: a run that is restored meanwhile goes as well
    db.execute(select(Experiment.id).where(Experiment.id == experiment_id).with_for_update(key_share=True))
    searches.request_stop(db, experiment_id)  # before the runs are locked, as the search tick does
    marks = _marks(undo)  # equal for all rows: by that `restore_experiment` finds the runs that went with it
    marked = _mark(db, marks, Run.experiment_id == experiment_id)
    db.execute(update(Experiment).where(Experiment.id == experiment_id).values(marks))
    changes.record_experiment(db, experiment_id)
    return marked


def mark_runs(db: Session, which: ColumnElement[bool], undo: timedelta = NO_UNDO) -> int:
    """Mark runs that have ended as deleted, which can be undone for `undo`; return their number."""
    return _mark(db, _marks(undo), which)


def _marks(undo: timedelta) -> dict[str, datetime | None]:
    moment = now()
    return {"deleted_at": moment, "restorable_until": moment + undo if undo else None}


def _mark(db: Session, marks: Mapping[str, datetime | None], which: ColumnElement[bool]) -> int:
    locked = lock_runs(db, which, Run.deleted_at.is_(None), Run.state.in_(ENDED))
    db.execute(update(Run).where(Run.id.in_(locked)).values(marks))
    changes.record_runs(db, locked)
    return len(locked)


def begin_removals(db: Session) -> None:
    """Claim the deletions whose time for an undo is over; from the commit on nothing restores them.

    An experiment and the runs that went with it have the same moment, so they are claimed together.
    """
    moment = now()
    # found first and locked then: in the order of ids SQLite would read the whole table
    found = [list(db.scalars(select(table.id).where(table.restorable_until <= moment))) for table in (Experiment, Run)]
    whole, single = found
    if whole:
        is_due = (Experiment.id.in_(whole), Experiment.restorable_until <= moment)
        query = select(Experiment.id).where(*is_due).order_by(Experiment.id)
        due = list(db.scalars(query.with_for_update(key_share=True)))
        db.execute(update(Experiment).where(Experiment.id.in_(due)).values(restorable_until=None))
    if single:
        locked = lock_runs(db, Run.id.in_(single), Run.restorable_until <= moment)
        db.execute(update(Run).where(Run.id.in_(locked)).values(restorable_until=None))


def was_deleted(db: Session, table: type[Experiment] | type[Run], row_id: int) -> bool:
    """Return whether the id was one of a row that is deleted: ids ascend, and none is used twice."""
    newest = db.scalar(select(func.max(table.id))) or 0
    row = db.execute(select(table.deleted_at).where(table.id == row_id)).one_or_none()
    return 0 < row_id <= newest if row is None else row.deleted_at is not None


def removable(db: Session, limit: int, *, after: DeletedRun | None = None) -> list[DeletedRun]:
    """Return deleted runs that no job can write to any more, oldest first; those that come after `after`."""
    has_job = select(Job.id).where(Job.id == Run.current_job_id, *IS_OPEN).exists()
    may_have_job = select(Job.id).where(Job.run_id == Run.id, Job.given_up_at.is_not(None)).exists()
    mine = [*_IS_BEING_REMOVED, ~has_job, ~may_have_job]
    if after is not None:
        is_later = (Run.deleted_at > after.deleted_at, and_(Run.deleted_at == after.deleted_at, Run.id > after.id))
        mine.append(or_(*is_later))
    query = select(Run.id, Run.key, Run.deleted_at).where(*mine).order_by(Run.deleted_at, Run.id).limit(limit)
    return [DeletedRun._make(row) for row in db.execute(query)]


def overdue(db: Session, before: datetime, limit: int) -> list[DeletedRun]:
    """Return runs that were deleted before a moment and whose removal goes on, oldest first."""
    mine = (*_IS_BEING_REMOVED, Run.deleted_at < before)
    query = select(Run.id, Run.key, Run.deleted_at).where(*mine).order_by(Run.deleted_at, Run.id).limit(limit)
    return [DeletedRun._make(row) for row in db.execute(query)]


def unused_arrays(db: Session, run_id: int) -> list[str]:
    """Return the names of the run's array submissions whose runs are all being removed."""
    mine = (Job.run_id == run_id, Job.array_task.is_not(None))
    names = db.scalars(select(Job.name).where(*mine).distinct()).all()
    stays = ~and_(*_IS_BEING_REMOVED)
    used = select(Job.name).join(Run, Run.id == Job.run_id).where(Job.name.in_(names), stays)
    return sorted(set(names) - set(db.scalars(used)))


def remove_rows(db: Session, run_id: int, limit: int) -> bool:
    """Remove at most `limit` rows of a deleted run's points, and with the last one its own; return whether it is gone.

    The row with the largest id stays until there is a later one: SQLite would give its id again.
    """
    if not lock_runs(db, Run.id == run_id, *_IS_BEING_REMOVED):
        return True
    if remove_points_of(db, run_id, limit) >= limit:
        return False
    db.execute(update(Run).where(Run.id == run_id).values(current_job_id=None))
    remove_run_fields(db, run_id)
    remove_figures(db, run_id)
    # runs that took its result have rows of their own, and its folder is gone
    mark_removed(db, RemovalCause.RUN_DELETED, Artifact.holder_id == run_id, Artifact.run_id != run_id)
    copies.request_removal(db, MirrorCopy.run_id == run_id)
    for table in (Series, PointWriter, Restart, Move, RunTag, Artifact, Job):
        db.execute(delete(table).where(table.run_id == run_id))
    divergences.remove(db, run_id)
    changes.remove_run(db, run_id)
    newest = select(func.max(Run.id)).scalar_subquery()
    db.execute(delete(Run).where(Run.id == run_id, Run.id < newest))
    return True


def removable_experiments(db: Session, limit: int) -> Sequence[int]:
    """Return the ids of deleted experiments that have no runs any more, at most `limit`, oldest deletion first."""
    newest = select(func.max(Experiment.id)).scalar_subquery()
    is_empty = ~select(Run.id).where(Run.experiment_id == Experiment.id).exists()
    is_deleted = (Experiment.deleted_at.is_not(None), Experiment.restorable_until.is_(None))
    mine = (*is_deleted, is_empty, Experiment.id < newest)
    return db.scalars(select(Experiment.id).where(*mine).order_by(Experiment.deleted_at).limit(limit)).all()


def remove_experiments(db: Session, ids: Sequence[int]) -> None:
    """Remove the rows of these experiments, which must be removable."""
    if ids:
        remove_experiment_fields(db, ids)
        remove_steps(db, ids)
        changes.remove_experiments(db, ids)
        searches.remove(db, ids)
        rules.remove(db, ids)
        occurrences.remove(db, ids)
        db.execute(delete(ExperimentTag).where(ExperimentTag.experiment_id.in_(ids)))
        db.execute(delete(Experiment).where(Experiment.id.in_(ids)))
