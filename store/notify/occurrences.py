"""Occurrences: what happened about which a rule wants a message, written in the transaction in which it happened.

A transaction notes what happens in it. At its end it writes a row for what a rule wants, so that a message is owed if
and only if the change is stored. Without any rule this costs one query in the transactions that note something.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import and_, delete, exists, insert, or_, select
from sqlalchemy.orm import Session

from contract.lifecycle.notification import NotifyEvent
from store.tables.base import now
from store.tables.experiments import Experiment
from store.tables.notify import NotifyRule, Occurrence
from store.tables.runs import Run

KEY = "occurrences"  # in Session.info
MAX_PARAMETERS = 5_000  # of one statement
MAX_TEXT = 2_000  # of a reason


class _Noted(NamedTuple):
    event: NotifyEvent
    run_id: int | None
    experiment_id: int | None  # None: that of the run
    detail: Mapping[str, Any]
    at: datetime


class Wanted(NamedTuple):
    """A target that wants an event of an experiment."""

    experiment_id: int
    target_id: int
    event: NotifyEvent


def note_runs(db: Session, event: NotifyEvent, run_ids: Iterable[int], **detail: Any) -> None:
    """Note that something happens to runs in this transaction."""
    at = now()
    _noted(db).extend(_Noted(event, run_id, None, detail, at) for run_id in run_ids)


def note_experiment(db: Session, event: NotifyEvent, experiment_id: int, **detail: Any) -> None:
    """Note that something happens to an experiment in this transaction."""
    _noted(db).append(_Noted(event, None, experiment_id, detail, now()))


def write(db: Session) -> None:
    """Write what this transaction has noted and a rule wants; `store.session.transaction` calls this at its end."""
    noted: list[_Noted] = db.info.pop(KEY, [])
    if not noted:
        return
    db.flush()
    if not db.scalar(select(exists().select_from(NotifyRule))):
        return
    owners = _experiments_of(db, {one.run_id for one in noted if one.run_id is not None})
    placed = [(_experiment_of(one, owners), one) for one in noted]
    wanted = wanted_by(db, {experiment_id for experiment_id, _ in placed if experiment_id is not None})
    pairs = {(one.experiment_id, one.event) for one in wanted}
    rows = [
        {
            "experiment_id": experiment_id,
            "event": one.event,
            "run_id": one.run_id,
            "detail": dict(one.detail),
            "at": one.at,
        }
        for experiment_id, one in placed
        if (experiment_id, one.event) in pairs
    ]
    if rows:
        db.execute(insert(Occurrence), rows)


def wanted_by(db: Session, experiment_ids: Collection[int]) -> set[Wanted]:
    """Return which targets want which events of experiments; a target that several rules name is named once."""
    of_experiment = NotifyRule.experiment_id == Experiment.id
    of_owner = NotifyRule.owner == Experiment.owner
    of_all = and_(NotifyRule.experiment_id.is_(None), NotifyRule.owner.is_(None))
    found: set[Wanted] = set()
    for part in _parts(experiment_ids):
        query = select(Experiment.id, NotifyRule.target_id, NotifyRule.events)
        query = query.join(NotifyRule, or_(of_experiment, of_owner, of_all))
        mine = (Experiment.id.in_(part), Experiment.deleted_at.is_(None))
        for experiment_id, target_id, events in db.execute(query.where(*mine)):
            found |= {Wanted(experiment_id, target_id, NotifyEvent(event)) for event in events}
    return found


def waiting(db: Session) -> dict[int, set[NotifyEvent]]:
    """Return the events of each experiment that have no message yet."""
    found: dict[int, set[NotifyEvent]] = {}
    for experiment_id, event in db.execute(select(Occurrence.experiment_id, Occurrence.event).distinct()):
        found.setdefault(experiment_id, set()).add(event)
    return found


def take(db: Session, experiment_id: int, event: NotifyEvent) -> Sequence[Occurrence]:
    """Remove and return what happened, oldest first. Of two workers one gets each row."""
    mine = (Occurrence.experiment_id == experiment_id, Occurrence.event == event)
    query = select(Occurrence).where(*mine).order_by(Occurrence.id).limit(MAX_PARAMETERS)
    rows = db.scalars(query.with_for_update(skip_locked=True)).all()
    if rows:
        ids = [row.id for row in rows]
        removed = delete(Occurrence).where(Occurrence.id.in_(ids))
        db.execute(removed.execution_options(synchronize_session=False))
    return rows


def remove(db: Session, experiment_ids: Sequence[int]) -> None:
    """Remove the occurrences of deleted experiments."""
    db.execute(delete(Occurrence).where(Occurrence.experiment_id.in_(experiment_ids)))


def _noted(db: Session) -> list[_Noted]:
    noted: list[_Noted] = db.info.setdefault(KEY, [])
    return noted


def _experiment_of(one: _Noted, owners: Mapping[int, int]) -> int | None:
    return one.experiment_id if one.run_id is None else owners.get(one.run_id)


def _experiments_of(db: Session, run_ids: Collection[int]) -> dict[int, int]:
    query = select(Run.id, Run.experiment_id)
    return {row[0]: row[1] for part in _parts(run_ids) for row in db.execute(query.where(Run.id.in_(part)))}


def _parts(ids: Collection[int]) -> Iterable[list[int]]:
    ordered = sorted(ids)
    return (ordered[first : first + MAX_PARAMETERS] for first in range(0, len(ordered), MAX_PARAMETERS))
