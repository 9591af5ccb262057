"""Series: their rows, as the writers and readers of points need them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from sqlalchemy import ColumnElement, select, update
from sqlalchemy.orm import Session

from contract.folder.bounds import MAX_RANK_SERIES, MAX_SERIES, MAX_SERIES_BYTES
from contract.metric_names import KNOWN, is_secondary
from store.insert import insert_into
from store.metrics.packing import unpack_tail
from store.tables.points import Series

MAX_PARAMETERS = 5_000  # of one statement; PostgreSQL's driver has room for 65,535
T = TypeVar("T")


@dataclass
class SeriesState:
    """What a row of `series` says about its points."""

    id: int
    run_id: int
    name: str
    tail: bytes
    first_step: int | None
    chunked_to: int
    open_chunk: int | None
    cell_width: int


_COLUMNS = (Series.id, Series.run_id, Series.name, Series.tail, Series.first_step, Series.chunked_to)
_STATE = (*_COLUMNS, Series.open_chunk, Series.cell_width)


def states(db: Session, *which: ColumnElement[bool]) -> list[SeriesState]:
    """Return the series of `which`, by run and name."""
    query = select(*_STATE).where(*which).order_by(Series.run_id, Series.name)
    return [SeriesState(*row) for row in db.execute(query)]


def moving(db: Session, run_id: int) -> set[str]:
    """Return the names of a run's series that have points at several steps."""
    found = states(db, Series.run_id == run_id)
    return {state.name for state in found if state.chunked_to >= 0 or len(unpack_tail(state.tail).steps) > 1}


def states_of(db: Session, series_ids: Sequence[int]) -> dict[int, SeriesState]:
    """Return the series of the ids."""
    return {state.id: state for part in parts_of(series_ids) for state in states(db, Series.id.in_(part))}


def save(db: Session, changed: Iterable[SeriesState]) -> None:
    """Store the states, in the order of their ids."""
    names = ("tail", "first_step", "chunked_to", "open_chunk", "cell_width")
    rows = [
        {"id": state.id, **{name: getattr(state, name) for name in names}}
        for state in sorted(changed, key=lambda state: state.id)
    ]
    if rows:
        db.execute(update(Series), rows)


def known_ids(db: Session, run_ids: Collection[int]) -> dict[tuple[int, str], int]:
    """Return the ids of all series of runs by run and name."""
    rows = db.execute(select(Series.run_id, Series.name, Series.id).where(Series.run_id.in_(run_ids))).all()
    return {(row.run_id, row.name): row.id for row in rows}


def ids_of(db: Session, wanted: Collection[tuple[int, str]], run_ids: Sequence[int]) -> Mapping[tuple[int, str], int]:
    """Return the ids of series by run and name; add missing ones, those beyond a run's limits left out."""
    return add_missing(db, wanted, known_ids(db, run_ids))


def add_missing(
    db: Session, wanted: Collection[tuple[int, str]], known: Mapping[tuple[int, str], int]
) -> Mapping[tuple[int, str], int]:
    """Return the ids of series by run and name; add those that `known` lacks, but none beyond a run's limits."""
    if missing := _within_limit(sorted(set(wanted) - known.keys()), known.keys()):
        add = insert_into(db, Series).on_conflict_do_nothing(index_elements=["run_id", "name"])
        db.execute(add, [{"run_id": run_id, "name": name} for run_id, name in missing])
        return known_ids(db, {run_id for run_id, _ in known.keys() | set(missing)})
    return known


def _within_limit(missing: Sequence[tuple[int, str]], known: Collection[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the series, by run and name, with which no run has more than MAX_SERIES with MAX_SERIES_BYTES of names.

    Series of ranks above 0 and of nodes are added only to a run with fewer than MAX_RANK_SERIES and half of the bytes,
    so that the others have room. Those of the engine have room always.
    """
    counts, sizes, added = Counter(run_id for run_id, _ in known), Counter[int](), []
    for run_id, name in known:
        sizes[run_id] += len(name.encode())
    for run_id, name in missing:
        most, most_bytes = (
            (MAX_RANK_SERIES, MAX_SERIES_BYTES // 2) if is_secondary(name) else (MAX_SERIES, MAX_SERIES_BYTES)
        )
        size = sizes[run_id] + len(name.encode())
        if name in KNOWN or (counts[run_id] < most and size <= most_bytes):
            counts[run_id], sizes[run_id] = counts[run_id] + 1, size
            added.append((run_id, name))
    return added


def parts_of(items: Iterable[T], size: int = MAX_PARAMETERS) -> Iterator[list[T]]:
    """Yield the items in lists that a statement has room for."""
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
