"""Undo of deletions: what can be restored, and the restoring."""

from datetime import datetime
from typing import Literal, NamedTuple

from sqlalchemy import ColumnElement, and_, func, literal, or_, select, update
from sqlalchemy.orm import Session

from store import changes
from store.locks import lock_runs
from store.tables.experiments import Experiment
from store.tables.runs import Run


class NotRestorableError(RuntimeError):
    """The deletion cannot be undone."""


class Deletion(NamedTuple):
    """An experiment with its runs, or a single run, whose deletion can be undone."""

    kind: Literal["experiment", "run"]
    id: int
    experiment_id: int
    name: str  # of the experiment
    runs: int
    deleted_at: datetime
    restorable_until: datetime


class Place(NamedTuple):
    """The place of a deletion in the list."""

    at: datetime
    kind: str
    id: int


def restore_experiment(db: Session, experiment_id: int) -> int:
    """Undo the deletion of an experiment and of the runs that went with it; return their number.

    Runs that were deleted before it stay deleted. Nothing changes if the experiment is not deleted. Raise
    NotRestorableError if its removal has begun.
    """
    experiment = _locked(db, experiment_id)
    if experiment is None:
        raise NotRestorableError(f"experiment {experiment_id} is removed")
    if experiment.deleted_at is None:
        return 0
    if experiment.restorable_until is None:
        raise NotRestorableError(f"the files of experiment {experiment_id} are being removed")
    mine = (Run.experiment_id == experiment_id, Run.restorable_until.is_not(None))
    restored = _restore(db, *mine, Run.deleted_at == experiment.deleted_at)
    experiment.deleted_at = experiment.restorable_until = None
    changes.record_experiment(db, experiment_id)
    return restored


def restore_run(db: Session, run_id: int) -> int:
    """Undo the deletion of a run; return 1, or 0 for a run that is not deleted. Raise NotRestorableError."""
    experiment_id = db.scalar(select(Run.experiment_id).where(Run.id == run_id))
    if experiment_id is None:
        raise NotRestorableError(f"run {run_id} is removed")
    if (experiment := _locked(db, experiment_id)) is not None and experiment.deleted_at is not None:
        raise NotRestorableError(f"experiment {experiment_id} is deleted: restore the experiment first")
    if _restore(db, Run.id == run_id, Run.restorable_until.is_not(None)):
        return 1
    if db.scalar(select(Run.id).where(Run.id == run_id, Run.deleted_at.is_(None))) is None:
        raise NotRestorableError(f"the files of run {run_id} are being removed")
    return 0


def _locked(db: Session, experiment_id: int) -> Experiment | None:
    """Lock an experiment before its runs, as its deletion does: so none of its runs is left out by one of the two."""
    query = select(Experiment).where(Experiment.id == experiment_id).with_for_update(key_share=True)
    return db.scalar(query.execution_options(populate_existing=True))


def _restore(db: Session, *which: ColumnElement[bool]) -> int:
    locked = lock_runs(db, *which)
    db.execute(update(Run).where(Run.id.in_(locked)).values(deleted_at=None, restorable_until=None))
    changes.record_runs(db, locked)
    return len(locked)


def deletions(db: Session, after: Place | None, limit: int) -> list[Deletion]:
    """Return what can be restored behind a place, the newest deletion first.

    The runs of a deleted experiment are part of its deletion.
    """
    went = and_(Run.experiment_id == Experiment.id, Run.deleted_at == Experiment.deleted_at)
    runs = select(func.count()).where(went).correlate(Experiment).scalar_subquery()
    moments = (Experiment.deleted_at, Experiment.restorable_until)
    whole = select(literal("experiment"), Experiment.id, Experiment.id, Experiment.name, runs, *moments)
    own = select(
        literal("run"), Run.id, Run.experiment_id, Experiment.name, literal(1), Run.deleted_at, Run.restorable_until
    ).join(Experiment, Experiment.id == Run.experiment_id)
    # by `deleted_at`, whose index has the deleted rows alone
    whole = whole.where(Experiment.deleted_at.is_not(None), Experiment.restorable_until.is_not(None))
    own = own.where(Run.deleted_at.is_not(None), Run.restorable_until.is_not(None))
    both = whole.union_all(own.where(Experiment.deleted_at.is_(None))).subquery()
    columns = list(both.c)
    kind, number, at = columns[0], columns[1], columns[5]
    query = select(*columns).order_by(at.desc(), kind, number.desc()).limit(limit)
    if after is not None:
        same = at == after.at
        behind = or_(kind > after.kind, and_(kind == after.kind, number < after.id))
        query = query.where(or_(at < after.at, and_(same, behind)))
    rows = db.execute(query)
    return [Deletion(*row) for row in rows]
