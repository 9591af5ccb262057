"""Searches: stored with their experiment, read as a whole, and changed on the version that was read."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, delete, exists, func, insert, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from contract.lifecycle.notification import NotifyEvent
from contract.lifecycle.trial import GOING_ON, STOPPED_BY_BUDGET, EndCause, TrialStatus
from contract.spec.search.search import SearchSpec
from store import changes
from store.notify import occurrences
from store.tables.base import now
from store.tables.experiments import Experiment
from store.tables.searches import Search, Trial


class Counts(NamedTuple):
    """How far a search is."""

    is_open: bool
    is_complete: bool  # it ended by itself
    trials: int  # how many there shall be
    ended: int


def create(db: Session, experiment_id: int, spec: SearchSpec, base: Mapping[str, Any], *, step: str = "") -> int:
    """Store a search of a new experiment; return its id. The scheduler starts its first trials."""
    search = Search(
        experiment_id=experiment_id, step=step, spec=spec.model_dump(mode="json"), base=dict(base), trials=spec.size
    )
    db.add(search)
    db.flush()
    return search.id


def open_ids(db: Session) -> Sequence[int]:
    """Return the searches that have not ended, oldest first."""
    alive = exists().where(Experiment.id == Search.experiment_id, Experiment.deleted_at.is_(None))
    return db.scalars(select(Search.id).where(Search.ended_at.is_(None), alive).order_by(Search.id)).all()


def experiment_of(db: Session, search_id: int) -> int:
    """Return the experiment of a search."""
    return db.execute(select(Search.experiment_id).where(Search.id == search_id)).scalar_one()


def of_experiment(db: Session, experiment_id: int, step: str = "") -> Search | None:
    """Return the search of an experiment, or of a step; None if it has none."""
    return db.scalar(select(Search).where(Search.experiment_id == experiment_id, Search.step == step))


def spec_of(search: Search) -> SearchSpec:
    """Return the spec of a search, as it was extended."""
    return SearchSpec.model_validate(search.spec)


def trials_of(db: Session, search_id: int) -> Sequence[Trial]:
    """Return the trials of a search, in their order."""
    return db.scalars(select(Trial).where(Trial.search_id == search_id).order_by(Trial.number)).all()


def lock(db: Session, search_id: int, version: int | None = None) -> Search | None:
    """Lock a search; return None if there is none, or if it has changed since `version` was read."""
    query = select(Search).where(Search.id == search_id).with_for_update(key_share=True)
    search = db.scalar(query.execution_options(populate_existing=True))
    if search is None or (version is not None and search.version != version):
        return None
    search.version += 1
    changes.record_experiment(db, search.experiment_id)
    return search


def add_trials(db: Session, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store new trials of a locked search."""
    if rows:
        db.execute(insert(Trial), [dict(row) for row in rows])


def change_trial(db: Session, search_id: int, number: int, change: Mapping[str, Any]) -> None:
    """Change a trial that goes on, of a locked search; the end of a trial is stored once."""
    mine = (Trial.search_id == search_id, Trial.number == number, Trial.ended_at.is_(None))
    has_ended = change.get("status", TrialStatus.RUNNING) not in GOING_ON
    values = {**change, "ended_at": now()} if has_ended else dict(change)
    changed = db.execute(update(Trial).where(*mine).values(values).returning(Trial.number)).all()
    assert changed, f"trial {number} of search {search_id} had ended"


def end(db: Session, search: Search, cause: EndCause) -> None:
    """End a locked search."""
    search.ended_at, search.end_cause = now(), cause
    occurrences.note_experiment(db, NotifyEvent.END, search.experiment_id)
    if cause is EndCause.BUDGET:
        occurrences.note_experiment(db, NotifyEvent.BUDGET, search.experiment_id, step=search.step)


def request_stop(db: Session, experiment_id: int) -> None:
    """Ask the searches of an experiment to end."""
    mine = (Search.experiment_id == experiment_id, Search.ended_at.is_(None), Search.stop_requested_at.is_(None))
    for search_id in db.scalars(select(Search.id).where(*mine).order_by(Search.id)).all():
        if search := lock(db, search_id):
            search.stop_requested_at = now()


def pause(search: Search) -> bool:
    """Pause a locked search; return whether it was going on."""
    if search.ended_at is not None or search.paused_at is not None:
        return False
    search.paused_at = now()
    return True


def resume(search: Search) -> bool:
    """Let a locked search go on that was paused or stopped on request; return whether it was."""
    was_stopped = search.ended_at is not None and search.end_cause is EndCause.REQUEST
    if search.paused_at is None and not was_stopped:
        return False
    search.paused_at = None
    if was_stopped:
        reopen(search)
    return True


def extend(db: Session, search: Search, spec: SearchSpec) -> None:
    """Give a locked search more trials or a larger budget; one that has ended goes on.

    So do the trials that the end of its budget stopped, as far as nobody asked for the stop of the search.
    """
    search.spec, search.trials = spec.model_dump(mode="json"), spec.size
    if search.end_cause is EndCause.BUDGET:
        for status, message in STOPPED_BY_BUDGET.items():
            mine = (Trial.search_id == search.id, Trial.status == TrialStatus.STOPPED, Trial.message == message)
            db.execute(update(Trial).where(*mine).values(status=status, message=None, ended_at=None))
    if search.ended_at is not None:
        reopen(search)


def reopen(search: Search) -> None:
    """Let a locked search that has ended go on."""
    search.ended_at = search.end_cause = search.stop_requested_at = None


def remove(db: Session, experiment_ids: Sequence[int]) -> None:
    """Remove the searches of deleted experiments."""
    ids = db.scalars(select(Search.id).where(Search.experiment_id.in_(experiment_ids))).all()
    db.execute(delete(Trial).where(Trial.search_id.in_(ids)))
    db.execute(delete(Search).where(Search.id.in_(ids)))


def counts(db: Session, experiment_ids: Sequence[int]) -> dict[int, Counts]:
    """Return how far the searches of experiments are; an experiment without one is left out."""
    ended = select(func.count()).where(Trial.search_id == Search.id, Trial.ended_at.is_not(None)).scalar_subquery()
    columns = (Search.experiment_id, Search.ended_at, Search.end_cause, Search.trials, ended)
    query = select(*columns).where(Search.experiment_id.in_(experiment_ids), Search.step == "")
    return {
        row[0]: Counts(row[1] is None, row[1] is not None and row[2] is not EndCause.REQUEST, row[3], row[4])
        for row in db.execute(query)
    }


def is_open(experiment_id: InstrumentedAttribute[int]) -> ColumnElement[bool]:
    """Return the condition that a search of the experiment has not ended."""
    return exists().where(Search.experiment_id == experiment_id, Search.step == "", Search.ended_at.is_(None))


def is_complete(experiment_id: InstrumentedAttribute[int]) -> ColumnElement[bool]:
    """Return the condition that the search of the experiment ended by itself."""
    by_itself = (Search.ended_at.is_not(None), Search.end_cause != EndCause.REQUEST)
    return exists().where(Search.experiment_id == experiment_id, Search.step == "", *by_itself)
