"""Restarts: the steps at which attempts resumed their runs."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.folder.events import Resumed
from store.insert import insert_into
from store.tables.runs import Restart


def store_restarts(db: Session, run_id: int, events: Iterable[Resumed]) -> None:
    """Store the last restart of each attempt, in one statement; an event that is read twice is stored once."""
    rows = {
        event.attempt: {"step": event.step, "lost_steps": event.lost_steps, "at": datetime.fromtimestamp(event.at, UTC)}
        for event in events
    }
    if not rows:
        return
    add = insert_into(db, Restart)
    new = {name: add.excluded[name] for name in ("step", "lost_steps", "at")}
    keyed = [{"run_id": run_id, "attempt": attempt, **row} for attempt, row in rows.items()]
    db.execute(add.on_conflict_do_update(index_elements=["run_id", "attempt"], set_=new), keyed)


def of_run(db: Session, run_id: int) -> Sequence[Restart]:
    """Return the restarts of a run, oldest first."""
    return db.scalars(select(Restart).where(Restart.run_id == run_id).order_by(Restart.attempt)).all()
