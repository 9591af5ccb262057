"""Batches of points that clients send: stored as a whole, once each."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from contract.api.incoming.points_batch import PointsBatch
from store.metrics import points
from store.metrics.newest import merge_latest
from store.recorded import writers
from store.tables.runs import Run

NAN = float("nan")


def store_batch(db: Session, run_id: int, batch: PointsBatch) -> bool:
    """Store a batch of a locked run, with the run's newest values; return False if it was stored before.

    Raise SequenceGapError or TooManyWritersError, and store nothing.
    """
    if not writers.accept(db, run_id, batch.writer, batch.sequence):
        return False
    found = {
        (run_id, name): (new.steps, [NAN if value is None else value for value in new.values])
        for name, new in batch.series.items()
        if new.steps
    }
    newest = points.put_columns(db, found)
    if found:
        run = db.scalars(select(Run).where(Run.id == run_id)).one()
        run.latest = merge_latest(run.latest, newest.get(run_id, {}))
        run.step = max(run.step, *(max(steps) for steps, _ in found.values()))
    return True
