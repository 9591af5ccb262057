"""Curves in buckets: what the points of each so many steps sum up to, so that a curve costs as much as its picture.

Buckets are cells, joined to a width that is a multiple of theirs and begins at a multiple of it: each bucket is exactly
what its points sum up to. A curve with fewer points than buckets is read point by point.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy.orm import Session

from store.metrics import series
from store.metrics.cell_blocks import FAR, SLAB, Span, read_cells
from store.metrics.cells import (
    FINEST,
    HAS_INFINITY,
    HAS_MINUS_INFINITY,
    HAS_NAN,
    NO_CELLS,
    RATIO,
    Cells,
    cells_of,
    joined,
    level_count,
    wider,
)
from store.metrics.chunk_rows import concatenated, read_chunks
from store.metrics.curves import GROUP, Place, places_of
from store.metrics.packing import NO_POINTS, Points, Reals, unpack_tail
from store.metrics.series import SeriesState


class Wanted(NamedTuple):
    """A series, and the steps of it that a picture shows."""

    state: SeriesState
    tail: Points
    first: int
    last: int


class Buckets(NamedTuple):
    """A part of a series in buckets of `width` steps; with width 1 each bucket is one point."""

    state: SeriesState
    cells: Cells  # by number of bucket
    width: int


def in_buckets(db: Session, found: Iterable[tuple[SeriesState, int, int]], buckets: int) -> Iterator[Buckets]:
    """Yield series, each between two steps, in about so many buckets over the steps of all; none without points.

    A bucket at an end of the steps has all its points, also those beyond the end.
    """
    wanted = [one for state, first, last in found if (one := _wanted(state, first, last))]
    if not wanted:
        return
    width = bucket_width(max(one.last for one in wanted) - min(one.first for one in wanted) + 1, buckets)
    for part in series.parts_of(wanted, GROUP):
        known = _from_cells(db, part, width)
        missing = [one for one in part if one.state.id not in known or _count(known[one.state.id]) <= buckets]
        known |= _from_points(db, missing, width, buckets)
        yield from (known[one.state.id] for one in part if len(known[one.state.id].cells.number))


def bucket_width(steps: int, buckets: int) -> int:
    """Return the width with which so many steps are about so many buckets; from FINEST on a multiple of cells."""
    target = -(-steps // buckets)
    width = 1
    if target >= FINEST:
        width = FINEST
        while width * RATIO <= target:
            width *= RATIO
    return width * -(-target // width)


def extent(state: SeriesState) -> tuple[int, int] | None:
    """Return the first and the last step of a series, None without points."""
    tail = unpack_tail(state.tail)
    ends = [] if state.first_step is None else [state.first_step, state.chunked_to]
    ends += tail.steps[[0, -1]].tolist() if len(tail.steps) else []
    return (ends[0], ends[-1]) if ends else None


def columns_of(found: Buckets, *, seven_digits: bool = False) -> dict[str, Any]:
    """Return buckets as the lists of contract.api.curves.BucketedCurve; perhaps with seven digits of each value."""
    of = _shortened if seven_digits else lambda column: column
    cells, ends = found.cells, extent(found.state)
    assert ends is not None  # a series with buckets has points
    steps = cells.number * found.width
    return {
        "width": found.width,
        "first_step": ends[0],
        "last_step": ends[1],
        "steps": steps.tolist(),
        "counts": cells.size.tolist(),
        "min": _finite(of(cells.least)),
        "max": _finite(of(cells.most)),
        "mean": _finite(of(cells.mean)),
        "last": _finite(of(cells.last)),
        "nan": steps[cells.flags & HAS_NAN > 0].tolist(),
        "infinity": steps[cells.flags & HAS_INFINITY > 0].tolist(),
        "minus_infinity": steps[cells.flags & HAS_MINUS_INFINITY > 0].tolist(),
    }


def short_columns_of(found: Buckets) -> dict[str, Any]:
    """Return buckets as the lists of contract.api.curves.ComparedCurve."""
    cells, ends = found.cells, extent(found.state)
    assert ends is not None  # a series with buckets has points
    steps = cells.number * found.width
    is_odd = cells.flags & (HAS_NAN | HAS_INFINITY | HAS_MINUS_INFINITY) > 0
    are_points = found.width == 1
    return {
        "width": found.width,
        "last_step": ends[1],
        "steps": steps.tolist(),
        "mean": _finite(_shortened(cells.mean)),
        "min": None if are_points else _finite(_shortened(cells.least)),
        "max": None if are_points else _finite(_shortened(cells.most)),
        "not_finite": steps[is_odd].tolist(),
    }


def _shortened(column: Reals) -> Reals:
    """Return the values with seven digits, as many as a float32 has: an answer of many curves is half as long."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        digits = 6 - np.floor(np.log10(np.abs(column)))
        scale = 10.0 ** np.clip(digits, -303, 303)
        short: Reals = np.where(np.abs(digits) < 303, np.round(column * scale) / scale, column)
    return short


def _finite(column: Reals) -> list[float | None]:
    values: list[float | None] = column.tolist()
    for at in np.flatnonzero(~np.isfinite(column)).tolist():
        values[at] = None
    return values


def _wanted(state: SeriesState, first: int, last: int) -> Wanted | None:
    ends = extent(state)
    if not ends or max(first, ends[0]) > min(last, ends[1]):
        return None
    return Wanted(state, unpack_tail(state.tail), max(first, ends[0]), min(last, ends[1]))


def _count(buckets: Buckets) -> int:
    return int(buckets.cells.size.sum())


def _from_cells(db: Session, wanted: Sequence[Wanted], width: int) -> dict[int, Buckets]:
    """Return the series whose cells are narrow enough, by id."""
    same: dict[tuple[int, int, Span], list[Wanted]] = {}
    for one in wanted:
        state = one.state
        if not state.cell_width or width % state.cell_width or one.first > state.chunked_to:
            continue
        assert state.first_step is not None
        level, narrow = 0, state.cell_width
        levels = level_count(narrow, state.first_step, state.chunked_to)
        while level + 1 < levels and width % (narrow * RATIO) == 0:
            level, narrow = level + 1, narrow * RATIO
        steps = _whole(one, width)
        same.setdefault((level, narrow, Span(*steps).wider(narrow)), []).append(one)
    known = {}
    for (level, narrow, span), mine in same.items():
        cells = read_cells(db, [one.state.id for one in mine], level, span)
        for one in mine:
            stored = wider(cells.get(one.state.id, NO_CELLS), width // narrow)
            newest = cells_of(_within(one.tail, *_whole(one, width)), width)
            known[one.state.id] = Buckets(one.state, joined([stored, newest]), width)
    return known


def _from_points(db: Session, wanted: Sequence[Wanted], width: int, buckets: int) -> dict[int, Buckets]:
    """Return series whose points are read, by id: points that are not more than the buckets stay as they are."""
    places = {one.state.id: _places(db, one, width) for one in wanted}
    long = {
        series_id for series_id, mine in places.items() if len(mine) > SLAB and sum(one.least for one in mine) > buckets
    }
    short = [place for series_id, mine in places.items() if series_id not in long for place in mine]
    chunks = read_chunks(db, [(place.series_id, place.first) for place in short])
    known = {}
    for one in wanted:
        mine, state = places[one.state.id], one.state
        if state.id in long:
            known[state.id] = Buckets(state, _in_slabs(db, one, mine, width), width)
            continue
        points = concatenated([*(chunks[place.series_id, place.first] for place in mine), one.tail])
        exact = _within(points, one.first, one.last)
        if len(exact.steps) <= buckets:
            known[state.id] = Buckets(state, cells_of(exact, 1), 1)
        else:
            known[state.id] = Buckets(state, cells_of(_within(points, *_whole(one, width)), width), width)
    return known


def _in_slabs(db: Session, one: Wanted, places: Sequence[Place], width: int) -> Cells:
    """Return the cells of a series without stored ones, a few chunks at a time."""
    steps, parts = _whole(one, width), list[Cells]()
    for some in series.parts_of(places, SLAB):
        chunks = read_chunks(db, [(place.series_id, place.first) for place in some])
        points = concatenated([chunks[place.series_id, place.first] for place in some])
        parts.append(cells_of(_within(points, *steps), width))
    return joined([*parts, cells_of(_within(one.tail, *steps), width)])


def _places(db: Session, one: Wanted, width: int) -> list[Place]:
    first, last = _whole(one, width)
    return [place for place in places_of(db, one.state, first - 1, FAR, last) if place.first <= last]


def _whole(one: Wanted, width: int) -> tuple[int, int]:
    """Return the first and the last step of the buckets that the wanted steps are in."""
    return one.first // width * width, one.last // width * width + width - 1


def _within(points: Points, first: int, last: int) -> Points:
    if not len(points.steps):
        return NO_POINTS
    return points.where((points.steps >= first) & (points.steps <= last))
