"""The writers of a run's points over HTTP: how many batches of each are stored."""

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from contract.api.incoming.points_batch import MAX_WRITERS
from store.insert import insert_into
from store.tables.points import PointWriter


class SequenceGapError(ValueError):
    """A batch came whose predecessor is missing."""

    def __init__(self, expected: int) -> None:
        super().__init__(f"expected batch {expected}")
        self.expected = expected


class TooManyWritersError(ValueError):
    """The run has as many writers as a run may have."""


def accept(db: Session, run_id: int, name: str, sequence: int) -> bool:
    """Count a writer's batch of a locked run as stored; return False if it was stored before.

    Raise SequenceGapError for a batch after the next one, TooManyWritersError for one writer too many.
    """
    mine = (PointWriter.run_id == run_id, PointWriter.name == name)
    stored = db.scalar(select(PointWriter.stored).where(*mine)) or 0
    if sequence <= stored:
        return False
    if sequence > stored + 1:
        raise SequenceGapError(stored + 1)
    if not stored and _count(db, run_id) >= MAX_WRITERS:
        raise TooManyWritersError(f"the run has {MAX_WRITERS} writers already, the most that a run may have")
    add = insert_into(db, PointWriter).values(run_id=run_id, name=name, stored=sequence)
    db.execute(add.on_conflict_do_update(index_elements=["run_id", "name"], set_={"stored": sequence}))
    return True


def of_run(db: Session, run_id: int) -> dict[str, int]:
    """Return the number of each writer's last batch."""
    query = select(PointWriter.name, PointWriter.stored).where(PointWriter.run_id == run_id)
    return {row[0]: row[1] for row in db.execute(query.order_by(PointWriter.name))}


def _count(db: Session, run_id: int) -> int:
    return db.scalar(select(func.count()).where(PointWriter.run_id == run_id)) or 0
