"""Runs whose loss has left the band of their group: each is stored, and a message is owed, once."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, exists, select
from sqlalchemy.orm import Session

from contract.lifecycle.notification import NotifyEvent
from contract.lifecycle.state import State
from store.insert import insert_into
from store.notify import occurrences
from store.tables.base import now
from store.tables.notify import Divergence, NotifyRule
from store.tables.runs import Run

CAUSE = "divergence"


class Candidate(NamedTuple):
    """A running run that has not left the band yet, and whose owner wants to know it."""

    id: int
    experiment_id: int
    step_id: int | None
    step: int


class Sibling(NamedTuple):
    """Another run of the group, and how far it is."""

    id: int
    step: int


def candidates(db: Session) -> list[Candidate]:
    """Return the runs that are to be compared with their groups; without any rule this is one small query."""
    if not db.scalar(select(exists().select_from(NotifyRule))):
        return []
    is_new = ~exists().where(Divergence.run_id == Run.id)
    query = select(Run.id, Run.experiment_id, Run.step_id, Run.step).where(Run.state == State.RUNNING)
    rows = [Candidate._make(row) for row in db.execute(query.where(Run.deleted_at.is_(None), Run.step > 0, is_new))]
    wanted = occurrences.wanted_by(db, {row.experiment_id for row in rows})
    mine = {one.experiment_id for one in wanted if one.event is NotifyEvent.ANOMALY}
    return [row for row in rows if row.experiment_id in mine]


def siblings(db: Session, run: Candidate, limit: int) -> Sequence[Sibling]:
    """Return the other runs of a run's experiment, of a workflow's step those of its step, that are furthest."""
    mine = (Run.experiment_id == run.experiment_id, Run.step_id.is_not_distinct_from(run.step_id))
    query = select(Run.id, Run.step).where(*mine, Run.id != run.id, Run.deleted_at.is_(None), Run.step > 0)
    return [Sibling._make(row) for row in db.execute(query.order_by(Run.step.desc(), Run.id).limit(limit))]


def store(db: Session, run_id: int, name: str, step: int, text: str) -> bool:
    """Store that a run has left the band, and note it; return False if another worker has."""
    row = {"run_id": run_id, "name": name, "step": step, "at": now()}
    add = insert_into(db, Divergence).values(row).on_conflict_do_nothing().returning(Divergence.run_id)
    if db.scalar(add) is None:
        return False
    occurrences.note_runs(db, NotifyEvent.ANOMALY, [run_id], cause=CAUSE, text=text)
    return True


def remove(db: Session, run_id: int) -> None:
    """Remove the row of a run whose own row is removed next."""
    db.execute(delete(Divergence).where(Divergence.run_id == run_id))
