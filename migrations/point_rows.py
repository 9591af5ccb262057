"""Points as rows become points in chunks, and back: a part at a time, in the migration's one transaction.

The bytes of chunks and cells are those of store/metrics, whose formats have versions: the service reads all of them.
"""

from itertools import groupby

import numpy as np
import sqlalchemy as sa
from sqlalchemy.orm import Session

from store.metrics.chunks import write_points
from store.metrics.packing import Points, unpack_points, unpack_tail

ROWS = 200_000  # that are in memory at once
NEXT = sa.text(
    "SELECT series_id, step, value FROM points WHERE (series_id, step) > (:series_id, :step) "
    "ORDER BY series_id, step LIMIT :rows"
)
ADD = sa.text("INSERT INTO points (series_id, step, value) VALUES (:series_id, :step, :value)")
CHUNKS = sa.text("SELECT first_step, data FROM chunks WHERE series_id = :series_id ORDER BY first_step")


def to_chunks(connection: sa.Connection) -> None:
    """Store all rows of `points` in chunks and cells; null becomes NaN."""
    place = {"series_id": -1, "step": -1}
    with Session(connection, join_transaction_mode="rollback_only") as db:
        while rows := connection.execute(NEXT, {**place, "rows": ROWS}).all():
            new = {
                series_id: Points(
                    np.array([row.step for row in part], np.int64),
                    np.array([row.value for row in part], np.float64),  # None becomes NaN
                )
                for series_id, part in ((key, list(group)) for key, group in groupby(rows, lambda row: row.series_id))
            }
            write_points(db, new)
            place = {"series_id": rows[-1].series_id, "step": rows[-1].step}
        db.flush()


def from_chunks(connection: sa.Connection) -> None:
    """Store all points as rows again; what is not finite becomes null."""
    for series_id, tail in connection.execute(sa.text("SELECT id, tail FROM series ORDER BY id")).all():
        for _, data in connection.execute(CHUNKS, {"series_id": series_id}).all():
            _add(connection, series_id, unpack_points(data))
        _add(connection, series_id, unpack_tail(tail))


def _add(connection: sa.Connection, series_id: int, points: Points) -> None:
    rows = [
        {"series_id": series_id, "step": step, "value": value if np.isfinite(value) else None}
        for step, value in zip(points.steps.tolist(), points.values.tolist(), strict=True)
    ]
    if rows:
        connection.execute(ADD, rows)
