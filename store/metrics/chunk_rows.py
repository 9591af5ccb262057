"""The rows of chunks: read, store and remove."""

from collections.abc import Sequence

import numpy as np
from sqlalchemy import ColumnElement, Integer, and_, column, delete, func, select, values
from sqlalchemy.orm import Session

from store.insert import insert_into
from store.metrics.packing import NO_POINTS, Points, pack_points, unpack_points
from store.metrics.series import parts_of
from store.tables.points import Chunk

CHUNK = 4096  # points of a complete chunk
PLACES = 400  # chunks of one statement
_PLACE = (column("series_id", Integer), column("first_step", Integer))


def read_chunks(db: Session, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], Points]:
    """Return the points of chunks, by series and first step."""
    found = {}
    for part in parts_of(places, PLACES):
        # a join: SQLite would read the whole table for pairs after IN
        wanted = values(*_PLACE, name="wanted").data(part).cte("wanted")
        is_same = and_(Chunk.series_id == wanted.c.series_id, Chunk.first_step == wanted.c.first_step)
        query = select(Chunk.series_id, Chunk.first_step, Chunk.data).select_from(wanted).join(Chunk, is_same)
        for row in db.execute(query):
            found[row.series_id, row.first_step] = unpack_points(row.data)
    return found


def read_overlapping(db: Session, series_id: int, first: int, last: int) -> list[Points]:
    """Return the chunks of a series that may have points from step `first` to step `last`, in order."""
    query = select(Chunk.data).where(*overlapping(series_id, first, last)).order_by(Chunk.first_step)
    return [unpack_points(data) for data in db.scalars(query)]


def read_range(db: Session, series_id: int, first: int, last: int) -> Points:
    """Return the points of a series' chunks from step `first` to step `last`."""
    points = concatenated(read_overlapping(db, series_id, first, last))
    return points.where((points.steps >= first) & (points.steps <= last))


def overlapping(series_id: int, first: int, last: int) -> list[ColumnElement[bool]]:
    """Return the conditions on the chunks of a series that may have points from step `first` to step `last`."""
    mine = Chunk.series_id == series_id
    start = select(func.max(Chunk.first_step)).where(mine, Chunk.first_step <= first).scalar_subquery()
    return [mine, Chunk.first_step >= func.coalesce(start, first), Chunk.first_step <= last]


def store_chunks(db: Session, rows: Sequence[tuple[int, Points]]) -> None:
    """Store chunks, by series; a chunk that begins at the same step is replaced."""
    if not rows:
        return
    add = insert_into(db, Chunk)
    fields = ("last_step", "count", "data")
    changed = add.on_conflict_do_update(
        index_elements=["series_id", "first_step"], set_={name: add.excluded[name] for name in fields}
    )
    db.execute(changed, [_row(series_id, points) for series_id, points in rows])


def _row(series_id: int, points: Points) -> dict[str, object]:
    count = len(points.steps)
    return {
        "series_id": series_id,
        "first_step": int(points.steps[0]),
        "last_step": int(points.steps[-1]),
        "count": count,
        "data": pack_points(points, deflate=count >= CHUNK),  # a chunk that still grows is packed often
    }


def remove_chunks(db: Session, series_id: int, first: int, last: int) -> None:
    """Remove the chunks of a series that begin from step `first` to step `last`."""
    mine = (Chunk.series_id == series_id, Chunk.first_step >= first, Chunk.first_step <= last)
    db.execute(delete(Chunk).where(*mine).execution_options(synchronize_session=False))


def concatenated(parts: Sequence[Points]) -> Points:
    """Return the points of successive parts."""
    if len(parts) < 2:
        return parts[0] if parts else NO_POINTS
    return Points(np.concatenate([part.steps for part in parts]), np.concatenate([part.values for part in parts]))
