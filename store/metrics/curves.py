"""Curves: the points of series, read as columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

import numpy as np
from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from store.metrics import series
from store.metrics.cell_blocks import FAR
from store.metrics.chunk_rows import CHUNK, concatenated, overlapping, read_chunks, read_overlapping
from store.metrics.packing import Points, unpack_points, unpack_tail
from store.metrics.series import SeriesState
from store.session import snapshot
from store.tables.points import Chunk, Series

Column = tuple[list[int], list[float | None]]
Columns = dict[str, Column]
GROUP = 50  # series whose points are in memory at once
PART = 16  # chunks of a series that are in memory at once, where all its points are read


class Place(NamedTuple):
    """Where a chunk is, and how many points it has at least beyond the step after which points are read."""

    series_id: int
    first: int
    last: int
    least: int


def of_run(db: Session, run_id: int, names: Sequence[str], *, after: int, limit: int) -> tuple[Columns, bool]:
    """Return columns of one run's series beyond step `after`, and whether there are more than `limit` points.

    A cut falls between two steps, so the last step is the next `after`.
    """
    found = series.states(db, Series.run_id == run_id, Series.name.in_(names))
    places = [place for state in found for place in places_of(db, state, after, limit)]
    last = _last_step(places, found, limit)
    points = _read(db, found, [place for place in places if place.first <= last], after, last)
    steps = np.concatenate([each.steps for each in points.values()]) if points else np.empty(0, np.int64)
    more = last < FAR
    if len(steps) > limit:
        more, last = True, int(np.partition(steps, limit)[limit]) - 1  # the next answer repeats a step that is cut
    columns: Columns = {name: ([], []) for name in names}
    for state in found:
        columns[state.name] = as_column(points[state.id].where(points[state.id].steps <= last))
    return columns, more


def of_experiment(
    db: Session, run_ids: Sequence[int], name: str, *, after: Mapping[int, int], limit: int
) -> tuple[dict[int, Column], bool]:
    """Return one series of many runs, each beyond its own step in `after`, and whether there are more than `limit`."""
    found = series.states(db, Series.run_id.in_(run_ids), Series.name == name)
    curves: dict[int, Column] = {}
    room = limit
    for state, points in _each(db, found, after, limit):
        if len(points.steps):
            if not room:
                return curves, True
            curves[state.run_id] = as_column(points.where(slice(room)))
            if len(points.steps) > room:
                return curves, True
            room -= len(points.steps)
    return curves, False


def whole(db: Session, found: Iterable[SeriesState]) -> Iterator[tuple[SeriesState, Points]]:
    """Yield series with all their points, a few series at a time."""
    for states in series.parts_of(found, GROUP):
        places = [place for state in states for place in places_of(db, state, -1, FAR)]
        points = _read(db, states, places, -1, FAR)
        yield from ((state, points[state.id]) for state in states)


def between(db: Session, run_ids: Sequence[int], name: str, *, first: int, last: int) -> list[Column]:
    """Return one series of several runs between two steps; runs without it are left out."""
    found = series.states(db, Series.run_id.in_(run_ids), Series.name == name)
    places = [place for state in found for place in places_of(db, state, first - 1, FAR, last)]
    points = _read(db, found, places, first - 1, last)
    return [as_column(points[state.id]) for state in found]


def newest(db: Session, run_id: int, name: str, *, end: int, count: int) -> Column:
    """Return the last `count` points of a series up to step `end`; they may be fewer where a chunk has just begun."""
    found = series.states(db, Series.run_id == run_id, Series.name == name)
    parts = [part for state in found for part in (*read_overlapping(db, state.id, end, end), unpack_tail(state.tail))]
    points = concatenated(parts)
    return as_column(points.where(points.steps <= end).where(slice(-count, None)))


class Part(NamedTuple):
    """Successive points of one series of a run."""

    name: str
    points: Points


def in_parts(
    engine: Engine, run_id: int, names: Sequence[str] = (), *, first: int = 0, last: int = FAR
) -> Iterator[Part]:
    """Yield all points of a run's series (of all series without names) between two steps, a part at a time.

    Each part is read in a transaction of its own: a client that reads slowly holds no connection to the database.
    """
    which = (Series.run_id == run_id, *([Series.name.in_(names)] if names else []))
    with snapshot(engine) as db:
        found = series.states(db, *which)
    for state in found:
        if state.first_step is None:
            parts: Iterator[Points] = iter([unpack_tail(state.tail)])
        else:
            parts = _chunked_parts(engine, state.id, first)
        for points in parts:
            within = points.where((points.steps >= first) & (points.steps <= last))
            if len(within.steps):
                yield Part(state.name, within)
            if len(points.steps) and points.steps[-1] > last:
                break


def _chunked_parts(engine: Engine, series_id: int, first: int) -> Iterator[Points]:
    """Yield the points of a series, PART chunks at a time, and the newest ones with the last chunks."""
    start = first - 1
    while True:
        with snapshot(engine) as db:
            mine = [*overlapping(series_id, start + 1, FAR), Chunk.last_step > start]
            query = select(Chunk.data).where(*mine).order_by(Chunk.first_step).limit(PART)
            packed = db.scalars(query).all()
            tail = db.scalar(select(Series.tail).where(Series.id == series_id)) if len(packed) < PART else None
        newest = [] if tail is None else [unpack_tail(tail)]
        points = concatenated([*map(unpack_points, packed), *newest])
        yield points.where(points.steps > start)
        if len(packed) < PART:
            return
        start = int(points.steps[-1])


def places_of(db: Session, state: SeriesState, after: int, limit: int, last: int = FAR) -> list[Place]:
    """Return the chunks with points from step `after` + 1 to step `last`, in order, until they have `limit` + 1."""
    if state.first_step is None or after >= state.chunked_to:
        return []
    if state.first_step == state.open_chunk:  # it is the only one
        return [Place(state.id, state.first_step, state.chunked_to, 0)]
    query = select(Chunk.first_step, Chunk.last_step, Chunk.count).where(*overlapping(state.id, after, last))
    places, count = list[Place](), 0
    most = 2 * limit // CHUNK + 3  # chunks are at least half full, but for the last one
    for first, end, size in db.execute(query.order_by(Chunk.first_step).limit(most)):
        if end > after and count <= limit:
            beyond = size if first > after else 0
            places.append(Place(state.id, first, end, beyond))
            count += beyond
    return places


def as_column(points: Points) -> Column:
    """Return points as lists; None stands for a value that is not a finite number."""
    values: list[float | None] = points.values.tolist()
    if not np.isfinite(points.values).all():
        values = [value if value is not None and isfinite(value) else None for value in values]
    return points.steps.tolist(), values


def _each(
    db: Session, found: Sequence[SeriesState], after: Mapping[int, int], limit: int
) -> Iterator[tuple[SeriesState, Points]]:
    """Yield series with their points beyond the steps in `after`, of each at least the first `limit` + 1."""
    for states in series.parts_of(found, GROUP):
        starts = {state.id: after.get(state.run_id, -1) for state in states}
        places = [place for state in states for place in places_of(db, state, starts[state.id], limit)]
        chunks = read_chunks(db, [(place.series_id, place.first) for place in places])
        for state in states:
            own = [chunks[place.series_id, place.first] for place in places if place.series_id == state.id]
            points = concatenated([*own, unpack_tail(state.tail)])
            yield state, points.where(points.steps > starts[state.id])


def _last_step(places: Sequence[Place], found: Sequence[SeriesState], limit: int) -> int:
    """Return a step up to which there are more than `limit` points, so that no later chunk is read; FAR without one."""
    ends = {place.series_id: place.last for place in places}
    unread = [ends[state.id] for state in found if state.id in ends and ends[state.id] < state.chunked_to]
    last, count = min(unread, default=FAR), 0
    for place in sorted(places, key=lambda place: place.last):
        count += place.least
        if count > limit:
            return min(last, place.last)
    return last


def _read(
    db: Session, found: Sequence[SeriesState], places: Sequence[Place], after: int, last: int
) -> dict[int, Points]:
    """Return the points of series beyond step `after`, up to step `last`."""
    parts: dict[int, list[Points]] = {state.id: [] for state in found}
    chunks = read_chunks(db, [(place.series_id, place.first) for place in places])
    for place in places:
        parts[place.series_id].append(chunks[place.series_id, place.first])
    points = {state.id: concatenated([*parts[state.id], unpack_tail(state.tail)]) for state in found}
    return {id_: each.where((each.steps > after) & (each.steps <= last)) for id_, each in points.items()}
