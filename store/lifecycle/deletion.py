"""Deletion of experiments and runs: marked at once, so that nothing shows them, and removed in small transactions."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, delete, func, select, update
from sqlalchemy.orm import Session

from contract.lifecycle.state import ENDED
from store.lifecycle.tags import ExperimentTag, RunTag
from store.locks import lock_runs
from store.metrics.figures import remove_figures
from store.metrics.retention import remove_points_of
from store.metrics.table import Series
from store.run_table.spec_fields import remove_experiment_fields, remove_run_fields
from store.runs import IS_OPEN
from store.tables import Experiment, Job, Move, Restart, Run, now

MOST_NAMED = 100  # runs that an answer names


class DeletedRun(NamedTuple):
    """The columns that name a deleted run's folder."""

    id: int
    key: str


def unended(db: Session, which: ColumnElement[bool]) -> list[int]:
    """Return the first runs of `which` that have not ended."""
    mine = (which, Run.deleted_at.is_(None), Run.state.not_in(ENDED))
    return list(db.scalars(select(Run.id).where(*mine).order_by(Run.id).limit(MOST_NAMED)))


def mark_experiment(db: Session, experiment_id: int) -> int:
    """Mark an experiment and its runs, which must have ended, as deleted; return the number of runs."""
    marked = mark_runs(db, Run.experiment_id == experiment_id)
    db.execute(update(Experiment).where(Experiment.id == experiment_id).values(deleted_at=now()))
    return marked


def mark_runs(db: Session, which: ColumnElement[bool]) -> int:
    """Mark runs that have ended as deleted; return their number."""
    locked = lock_runs(db, which, Run.deleted_at.is_(None), Run.state.in_(ENDED))
    db.execute(update(Run).where(Run.id.in_(locked)).values(deleted_at=now()))
    return len(locked)


def was_deleted(db: Session, table: type[Experiment] | type[Run], row_id: int) -> bool:
    """Return whether the id was one of a row that is deleted: ids ascend, and none is used twice."""
    newest = db.scalar(select(func.max(table.id))) or 0
    row = db.execute(select(table.deleted_at).where(table.id == row_id)).one_or_none()
    return 0 < row_id <= newest if row is None else row.deleted_at is not None


def removable(db: Session, limit: int) -> list[DeletedRun]:
    """Return deleted runs that no job can write to any more, oldest first."""
    has_job = select(Job.id).where(Job.id == Run.current_job_id, *IS_OPEN).exists()
    may_have_job = select(Job.id).where(Job.run_id == Run.id, Job.given_up_at.is_not(None)).exists()
    mine = (Run.deleted_at.is_not(None), ~has_job, ~may_have_job)
    query = select(Run.id, Run.key).where(*mine).order_by(Run.deleted_at, Run.id).limit(limit)
    return [DeletedRun._make(row) for row in db.execute(query)]


def unused_arrays(db: Session, run_id: int) -> list[str]:
    """Return the names of the run's array submissions whose runs are all deleted."""
    mine = (Job.run_id == run_id, Job.array_task.is_not(None))
    names = db.scalars(select(Job.name).where(*mine).distinct()).all()
    used = select(Job.name).join(Run, Run.id == Job.run_id).where(Job.name.in_(names), Run.deleted_at.is_(None))
    return sorted(set(names) - set(db.scalars(used)))


def remove_rows(db: Session, run_id: int, limit: int) -> bool:
    """Remove at most `limit` rows of a deleted run's points, and with the last one its own; return whether it is gone.

    The row with the largest id stays until there is a later one: SQLite would give its id again.
    """
    if not lock_runs(db, Run.id == run_id, Run.deleted_at.is_not(None)):
        return True
    if remove_points_of(db, run_id, limit) >= limit:
        return False
    db.execute(update(Run).where(Run.id == run_id).values(current_job_id=None))
    remove_run_fields(db, run_id)
    remove_figures(db, run_id)
    for table in (Series, Restart, Move, RunTag, Job):
        db.execute(delete(table).where(table.run_id == run_id))
    newest = select(func.max(Run.id)).scalar_subquery()
    db.execute(delete(Run).where(Run.id == run_id, Run.id < newest))
    return True


def remove_experiments(db: Session) -> None:
    """Remove the rows of deleted experiments that have no runs any more."""
    newest = select(func.max(Experiment.id)).scalar_subquery()
    is_empty = ~select(Run.id).where(Run.experiment_id == Experiment.id).exists()
    mine = (Experiment.deleted_at.is_not(None), is_empty, Experiment.id < newest)
    ids: Sequence[int] = db.scalars(select(Experiment.id).where(*mine).order_by(Experiment.deleted_at).limit(100)).all()
    if ids:
        remove_experiment_fields(db, ids)
        db.execute(delete(ExperimentTag).where(ExperimentTag.experiment_id.in_(ids)))
        db.execute(delete(Experiment).where(Experiment.id.in_(ids)))
