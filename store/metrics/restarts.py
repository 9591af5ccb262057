"""Restarts: the steps at which attempts resumed their runs."""

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.folder.events import Resumed
from store.metrics.insert import insert_into
from store.tables import Restart


def store_restart(db: Session, run_id: int, event: Resumed) -> None:
    """Store a restart; an event that is read twice is stored once."""
    values = {"step": event.step, "lost_steps": event.lost_steps, "at": datetime.fromtimestamp(event.at, UTC)}
    add = insert_into(db, Restart).values(run_id=run_id, attempt=event.attempt, **values)
    db.execute(add.on_conflict_do_update(index_elements=["run_id", "attempt"], set_=values))


def of_run(db: Session, run_id: int) -> Sequence[Restart]:
    """Return the restarts of a run, oldest first."""
    return db.scalars(select(Restart).where(Restart.run_id == run_id).order_by(Restart.attempt)).all()
