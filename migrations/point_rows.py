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
MOST_NEWEST = 128  # points in the row of a series
NEXT = sa.text(
    "SELECT series_id, step, value FROM points WHERE (series_id, step) > (:series_id, :step) "
    "ORDER BY series_id, step LIMIT :rows"
)
ADD = sa.text("INSERT INTO points (series_id, step, value) VALUES (:series_id, :step, :value)")
SERIES = sa.text("SELECT id, tail FROM series WHERE id > :series_id ORDER BY id LIMIT :rows")
NEXT_CHUNK = sa.text(
    "SELECT first_step, data FROM chunks WHERE series_id = :series_id AND first_step > :step "
    "ORDER BY first_step LIMIT 1"
)


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
    place = {"series_id": -1, "rows": ROWS // MOST_NEWEST}
    while found := connection.execute(SERIES, place).all():
        for series_id, tail in found:
            step = -1
            while row := connection.execute(NEXT_CHUNK, {"series_id": series_id, "step": step}).one_or_none():
                _add(connection, series_id, unpack_points(row.data))
                step = row.first_step
            _add(connection, series_id, unpack_tail(tail))
        place["series_id"] = found[-1].id


def _add(connection: sa.Connection, series_id: int, points: Points) -> None:
    rows = [
        {"series_id": series_id, "step": step, "value": value if np.isfinite(value) else None}
        for step, value in zip(points.steps.tolist(), points.values.tolist(), strict=True)
    ]
    if rows:
        connection.execute(ADD, rows)
