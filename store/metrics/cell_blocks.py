"""The upper layer: cells of several widths over a series' chunks, in rows of BLOCK cells.

A series with more than one chunk has cells. Its finest cells have about POINTS_OF_CELL points or more, those of the
next level RATIO times as many steps, and so on until the cells of a level are within one block. Cells are always
computed from the layer below them, in the transaction that changes it, so each cell is what its points sum up to.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from store.insert import insert_into
from store.metrics.cells import (
    BLOCK,
    NO_CELLS,
    RATIO,
    Cells,
    cells_of,
    joined,
    level_count,
    pack_block,
    unpack_block,
    wider,
    width_for,
)
from store.metrics.chunk_rows import CHUNK, concatenated, read_range
from store.metrics.packing import Points, unpack_points
from store.metrics.series import SeriesState
from store.tables.points import CellBlock, Chunk

SLAB = 64  # chunks that are in memory at once
FAR = 2**31 - 1  # the last step that can be stored


class Span(NamedTuple):
    """Cells from one number to another."""

    first: int
    last: int

    def wider(self, ratio: int) -> "Span":
        """Return the cells of `ratio` times the width that have a part of these cells."""
        return Span(self.first // ratio, self.last // ratio)

    def of(self, cells: Cells) -> Cells:
        """Return the cells that are in this span."""
        return cells.where((cells.number >= self.first) & (cells.number <= self.last))


def extend(db: Session, state: SeriesState, points: Points, *, first_new: int, before: int) -> None:
    """Sum up points that follow the series' earlier chunks, which end at step `before`.

    `points` begin with those of the last chunk that was there, and `first_new` is the first step that is new.
    """
    wanted = _width_for(points)
    has_become_dense = len(points.steps) >= CHUNK // 2 and wanted * RATIO * RATIO <= state.cell_width
    if not state.cell_width or has_become_dense:
        state.cell_width = wanted
        rebuild(db, state)
        return
    start = first_new // state.cell_width * state.cell_width
    if start < points.steps[0] and start <= before:
        earlier = read_range(db, state.id, start, int(points.steps[0]) - 1)
        points = concatenated([earlier, points])
    assert state.first_step is not None
    levels = level_count(state.cell_width, state.first_step, before)
    span = Span(start // state.cell_width, state.chunked_to // state.cell_width)
    _sum_up(db, state, points.where(points.steps >= start), span, levels)


def start(db: Session, state: SeriesState, points: Points) -> None:
    """Sum up all of a series whose cells do not fit its chunks, or that has none; `points` are a part of it."""
    state.cell_width = state.cell_width or _width_for(points)
    rebuild(db, state)


def refresh(db: Session, state: SeriesState, span: Span, levels: int) -> None:
    """Sum up again the points of some finest cells; the series had cells of so many levels."""
    width = state.cell_width
    points = read_range(db, state.id, span.first * width, min((span.last + 1) * width - 1, FAR))
    _sum_up(db, state, points, span, levels, is_change=True)


def rebuild(db: Session, state: SeriesState) -> None:
    """Sum up all chunks of a series anew."""
    remove_cells(db, state.id)
    parts, after = list[Cells](), -1
    query = select(Chunk.last_step, Chunk.data).where(Chunk.series_id == state.id).order_by(Chunk.first_step)
    while rows := db.execute(query.where(Chunk.first_step > after).limit(SLAB)).all():
        parts.append(cells_of(concatenated([unpack_points(row.data) for row in rows]), state.cell_width))
        after = rows[-1].last_step
    cells = joined(parts)
    for level in range(_levels(state)):
        cells = wider(cells, RATIO) if level else cells
        _store(db, state.id, level, cells)


def read_cells(db: Session, series_ids: Sequence[int], level: int, span: Span) -> dict[int, Cells]:
    """Return the cells of one level, by series."""
    blocks = span.wider(BLOCK)
    query = select(CellBlock.series_id, CellBlock.data).where(
        CellBlock.series_id.in_(series_ids),
        CellBlock.level == level,
        CellBlock.block >= blocks.first,
        CellBlock.block <= blocks.last,
    )
    parts: dict[int, list[Cells]] = {}
    for row in db.execute(query.order_by(CellBlock.series_id, CellBlock.block)):
        parts.setdefault(row.series_id, []).append(unpack_block(row.data))
    return {series_id: span.of(joined(found)) for series_id, found in parts.items()}


def remove_cells(db: Session, series_id: int, from_level: int = 0) -> None:
    """Remove the cells of a series from a level on."""
    mine = (CellBlock.series_id == series_id, CellBlock.level >= from_level)
    db.execute(delete(CellBlock).where(*mine).execution_options(synchronize_session=False))


def _sum_up(
    db: Session, state: SeriesState, points: Points, span: Span, levels: int, *, is_change: bool = False
) -> None:
    """Replace the cells of a span, and those of all wider widths above it, where there were cells of `levels` widths.

    `points` are all those of the span. Without `is_change` no cell of the span's later blocks is stored yet.
    """
    cells = cells_of(points, state.cell_width)
    for level in range(_levels(state)):
        if level >= levels:  # a new width, over all cells of the width below
            below = read_cells(db, [state.id], level - 1, Span(0, FAR)).get(state.id, NO_CELLS)
            cells = wider(below, RATIO)
            _store(db, state.id, level, cells)
            continue
        stored = _replace(db, state.id, level, span, cells, is_change=is_change)
        span = span.wider(RATIO)
        cells = wider(Span(span.first * RATIO, span.last * RATIO + RATIO - 1).of(stored), RATIO)


def _replace(db: Session, series_id: int, level: int, span: Span, cells: Cells, *, is_change: bool) -> Cells:
    """Replace the cells of a span; return all cells of the first and the last block, and of those between."""
    blocks = span.wider(BLOCK)
    mine = (CellBlock.series_id == series_id, CellBlock.level == level)
    outer = select(CellBlock.data).where(*mine, CellBlock.block.in_({*blocks})).order_by(CellBlock.block)
    there = joined([unpack_block(data) for data in db.scalars(outer)])
    before, after = there.where(there.number < span.first), there.where(there.number > span.last)
    if is_change:
        within = (CellBlock.block >= blocks.first, CellBlock.block <= blocks.last)
        db.execute(delete(CellBlock).where(*mine, *within).execution_options(synchronize_session=False))
    stored = joined([before, cells, after])
    _store(db, series_id, level, stored)
    return stored


def _store(db: Session, series_id: int, level: int, cells: Cells) -> None:
    if not len(cells.number):
        return
    blocks, rows = cells.number // BLOCK, []
    for block in dict.fromkeys(blocks.tolist()):
        data = pack_block(cells.where(blocks == block))
        rows.append({"series_id": series_id, "level": level, "block": block, "data": data})
    add = insert_into(db, CellBlock)
    change = add.on_conflict_do_update(
        index_elements=["series_id", "level", "block"], set_={"data": add.excluded["data"]}
    )
    db.execute(change, rows)


def _width_for(points: Points) -> int:
    return width_for((int(points.steps[-1]) - int(points.steps[0]) + 1) / len(points.steps))


def _levels(state: SeriesState) -> int:
    if state.first_step is None:
        return 0
    return level_count(state.cell_width, state.first_step, state.chunked_to)
