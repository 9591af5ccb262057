"""Groups of runs with equal values in chosen fields, and the values of other fields in each group."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from sqlalchemy import ColumnElement, select
from sqlalchemy.orm import Session

from store.run_table.fields import Field, TagField
from store.run_table.page import Cell, Listed, cells_of, tags_of
from store.tables.runs import Run

PART = 5000  # runs of a statement: a statement has at most 32,766 parameters in SQLite

Key = tuple[Cell, ...]


class Members(NamedTuple):
    """The runs of one group."""

    runs: int
    values: list[list[Cell]]  # of each run, in the order of the fields


def grouped(
    db: Session, *which: ColumnElement[bool], by: Sequence[Field], fields: Sequence[Field]
) -> tuple[int, dict[Key, Members]]:
    """Return the number of runs, and by the values of `by` the values of `fields` of each run of the group.

    A run with several tags is in the group of each of them.
    """
    found: dict[Key, list[list[Cell]]] = {}
    count = 0
    for runs in _parts(db, which):
        count += len(runs)
        cells = cells_of(db, runs, [*by, *fields])
        tags = tags_of(db, runs) if TagField() in by else {}
        for run in runs:
            own = cells[run.id]
            for key in _keys(by, own, tags.get(run.id, [])):
                found.setdefault(key, []).append(own[len(by) :])
    return count, {key: Members(len(values), values) for key, values in found.items()}


def _parts(db: Session, which: Sequence[ColumnElement[bool]]) -> Iterator[list[Listed]]:
    query = select(Run.id.label("grouped_run_id"), Run.experiment_id).where(*which).order_by(Run.id)
    rows = db.execute(query).all()
    for first in range(0, len(rows), PART):
        yield [Listed(row.grouped_run_id, row.experiment_id) for row in rows[first : first + PART]]


def _keys(by: Sequence[Field], own: Sequence[Cell], tags: Sequence[str]) -> Iterator[Key]:
    without: Sequence[Cell] = [None]
    choices = [(tags or without) if field == TagField() else [own[place]] for place, field in enumerate(by)]
    yield from product(*choices)
