"""Restarts: where attempts took their runs up again."""

from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.folder.events import Resumed
from store.metrics.points import insert_into
from store.tables import Restart


def note(db: Session, run_id: int, said: Resumed) -> None:
    """Keep the restart; told twice, it is one."""
    told = {"step": said.step, "lost_steps": said.lost_steps, "at": datetime.fromtimestamp(said.at, UTC)}
    add = insert_into(db, Restart).values(run_id=run_id, attempt=said.attempt, **told)
    db.execute(add.on_conflict_do_update(index_elements=["run_id", "attempt"], set_=told))


def of_run(db: Session, run_id: int) -> Sequence[Restart]:
    return db.scalars(select(Restart).where(Restart.run_id == run_id).order_by(Restart.attempt)).all()
