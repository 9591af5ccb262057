"""The names and values that a query may have, for its completion and for messages."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from sqlalchemy import CTE, func, select, union
from sqlalchemy.orm import Session

from store.run_table.columns import ALIASES, BuiltIn, Kind, built_ins, plain
from store.tables.experiments import ExperimentField, ExperimentTag
from store.tables.points import Figure
from store.tables.runs import RunField, RunTag

MAX_NAMES, MAX_NAMES_BYTES = 2000, 256 << 10  # of each kind: a program may report thousands of wide metrics

PATHS = "spec_paths"  # in Session.info: a query names many fields


class FieldName(NamedTuple):
    """A name of a field."""

    name: str
    kind: Kind
    title: str
    is_metric: bool = False


def all_names(db: Session) -> list[FieldName]:
    """Return the names of all fields: columns, then fields of specs, then metrics."""
    columns = [FieldName(name, column.kind, column.title) for name, column in built_ins().items()]
    columns.append(FieldName("tag", Kind.TEXT, "tag of the run or of its experiment"))
    columns += [FieldName(name, Kind.ANY, f"short for {path}") for name, path in ALIASES.items()]
    specs = [FieldName(path, Kind.ANY, "field of the spec") for path in spec_paths(db)]
    metrics = [FieldName(name, Kind.NUMBER, "metric", True) for name in _distinct(db, Figure.name)]
    return [*columns, *specs, *metrics]


def spec_paths(db: Session) -> list[str]:
    """Return the paths of the fields of all specs, in alphabetical order; a transaction reads them once."""
    transaction, paths = db.info.get(PATHS, (None, []))
    if transaction is None or transaction is not db.get_transaction():
        paths = sorted({*_distinct(db, ExperimentField.path), *_distinct(db, RunField.path)})
        db.info[PATHS] = (db.get_transaction(), paths)
    return list(paths)


def tag_values(db: Session, limit: int) -> list[str]:
    """Return the tags of runs and experiments, in alphabetical order."""
    return sorted(db.scalars(union(select(RunTag.tag), select(ExperimentTag.tag)).limit(limit)))


def spec_values(db: Session, path: str, limit: int) -> list[float | int | str | bool | None]:
    """Return the values of a field of specs: numbers, then texts."""
    parts = [select(table.number, table.text).where(table.path == path) for table in (ExperimentField, RunField)]
    rows = db.execute(union(*parts).limit(limit)).all()
    numbers = sorted(row.number for row in rows if row.number is not None)
    return [*map(plain, numbers), *sorted(row.text for row in rows if row.text is not None)]


def column_values(db: Session, column: BuiltIn, limit: int) -> list[str]:
    """Return the values of a text column."""
    if column.choices:
        return list(column.choices)
    if column.kind is not Kind.TEXT:
        return []
    column_of = column.expression
    found: Sequence[str | None] = db.scalars(
        select(column_of).where(column_of != "").group_by(column_of).order_by(func.count().desc()).limit(limit)
    ).all()
    return [value for value in found if value]


def _distinct(db: Session, column: Any) -> list[str]:
    """Return the distinct values of the first column of an index, one search for each."""
    first = select(func.min(column).label("value")).cte("distinct_values", recursive=True)
    later = select(func.min(column)).where(column > first.c.value).scalar_subquery()
    every: CTE = first.union_all(select(later).where(first.c.value.is_not(None)))
    values = db.scalars(select(every.c.value).where(every.c.value.is_not(None)).limit(MAX_NAMES)).all()
    sizes = accumulate(len(value.encode()) for value in values)
    return [value for value, size in zip(values, sizes, strict=True) if size <= MAX_NAMES_BYTES]
