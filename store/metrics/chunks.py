"""The lower layer: every point of a series, in chunks by steps, and the newest points in the series' own row.

A few new points change one small row. Once there are FOLD newest points, they move into the last chunk, which is
complete with CHUNK points. A step of a chunk is seldom written again: the chunk is replaced then. The cells above the
chunks change with them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from store.metrics import cell_blocks
from store.metrics.cell_blocks import SLAB, Span
from store.metrics.cells import level_count
from store.metrics.chunk_rows import (
    CHUNK,
    concatenated,
    overlapping,
    read_chunks,
    read_overlapping,
    remove_chunks,
    store_chunks,
)
from store.metrics.packing import NO_POINTS, Points, pack_tail, unpack_tail
from store.metrics.series import SeriesState, save, states_of
from store.tables.points import Chunk

FOLD = 128


def write_points(db: Session, new: Mapping[int, Points]) -> set[int]:
    """Store points of series, by id; a point of a step that is stored already replaces the earlier point.

    Return the series whose newest point, the one of the highest step, is among the new ones.
    """
    known = states_of(db, sorted(new))
    folding: list[tuple[SeriesState, Points]] = []
    leading = set()
    for series_id, state in known.items():
        points = new[series_id]
        if points.steps[-1] >= _last_step(state):
            leading.add(series_id)
        if points.steps[0] <= state.chunked_to:
            is_late = points.steps <= state.chunked_to
            for group in _groups(db, state, points.where(is_late)):
                _rewrite(db, state, group)
            points = points.where(~is_late)
        newest = overlaid(unpack_tail(state.tail), points)
        if len(newest.steps) < FOLD:
            state.tail = pack_tail(newest)
        else:
            folding.append((state, newest))
    _fold(db, folding)
    save(db, known.values())
    return leading


def _last_step(state: SeriesState) -> int:
    """Return the highest step of a series, -1 without points."""
    tail = unpack_tail(state.tail)
    return int(tail.steps[-1]) if len(tail.steps) else state.chunked_to


def overlaid(old: Points, new: Points) -> Points:
    """Return all points by ascending steps; of a step that occurs more than once, the last point."""
    joint = concatenated([part for part in (old, new) if len(part.steps)])
    if (joint.steps[1:] > joint.steps[:-1]).all():
        return joint
    order = np.argsort(joint.steps, kind="stable")
    joint = Points(joint.steps[order], joint.values[order])
    return joint.where(np.append(joint.steps[1:] != joint.steps[:-1], True))


def _fold(db: Session, folding: Sequence[tuple[SeriesState, Points]]) -> None:
    """Move the newest points into chunks, and sum them up in cells."""
    places = [(state.id, state.open_chunk) for state, _ in folding if state.open_chunk is not None]
    open_chunks = {series_id: points for (series_id, _), points in read_chunks(db, places).items()}
    longer = [(state, overlaid(open_chunks.get(state.id, NO_POINTS), newest)) for state, newest in folding]
    pieces = [(state.id, piece) for state, points in longer for piece in _pieces(points)]
    store_chunks(db, pieces)
    for (state, newest), (_, points) in zip(folding, longer, strict=True):
        before, has_one = state.chunked_to, state.first_step == state.open_chunk
        state.tail, state.chunked_to = b"", int(points.steps[-1])
        state.first_step = int(points.steps[0]) if state.first_step is None else state.first_step
        last = _pieces(points)[-1]
        state.open_chunk = int(last.steps[0]) if len(last.steps) < CHUNK else None
        if state.cell_width or not has_one or len(points.steps) > CHUNK:
            cell_blocks.extend(db, state, points, first_new=int(newest.steps[0]), before=before)


def _pieces(points: Points) -> list[Points]:
    return [points.where(slice(at, at + CHUNK)) for at in range(0, len(points.steps), CHUNK)]


def _equal_pieces(points: Points) -> list[Points]:
    """Return chunks of about one size: steps in descending order would leave many small ones otherwise."""
    count = -(-len(points.steps) // CHUNK)
    edges = [len(points.steps) * number // count for number in range(count + 1)]
    return [points.where(slice(*edge)) for edge in pairwise(edges)]


def _groups(db: Session, state: SeriesState, points: Points) -> Iterator[Points]:
    """Yield late points in groups of neighboring chunks: the chunks between two distant points are not read."""
    mine = overlapping(state.id, int(points.steps[0]), int(points.steps[-1]))
    starts = np.array(db.scalars(select(Chunk.first_step).where(*mine).order_by(Chunk.first_step)).all(), np.int64)
    number = np.searchsorted(starts, points.steps, side="right").clip(1) - 1
    begin = 0
    for end in range(1, len(number) + 1):
        is_last = end == len(number)
        if is_last or number[end] > number[end - 1] + 1 or number[end] >= number[begin] + SLAB:
            yield points.where(slice(begin, end))
            begin = end


def _rewrite(db: Session, state: SeriesState, points: Points) -> None:
    """Replace the chunks in whose ranges the points are, all before the end of the last chunk."""
    assert state.first_step is not None
    first, last = int(points.steps[0]), int(points.steps[-1])
    there = read_overlapping(db, state.id, max(first, state.first_step), max(last, state.first_step))
    whole = overlaid(concatenated(there), points)
    remove_chunks(db, state.id, int(there[0].steps[0]), int(there[-1].steps[0]))
    pieces = _equal_pieces(whole)
    store_chunks(db, [(state.id, piece) for piece in pieces])
    if int(whole.steps[-1]) == state.chunked_to:
        state.open_chunk = int(pieces[-1].steps[0]) if len(pieces[-1].steps) < CHUNK else None
    levels = level_count(state.cell_width, state.first_step, state.chunked_to) if state.cell_width else 0
    state.first_step = min(first, state.first_step)
    if levels:
        cell_blocks.refresh(db, state, Span(first, last).wider(state.cell_width), levels)
    elif state.first_step != state.open_chunk:
        cell_blocks.start(db, state, whole)
