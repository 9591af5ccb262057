"""The order of a list, and the page that follows a row (keyset pagination)."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, select, tuple_
from sqlalchemy.orm import Session

from store.tables.experiments import Experiment
from store.tables.runs import Run


class UnknownRowError(LookupError):
    """The row from which a page should continue is not in the list."""


class ListOrder(NamedTuple):
    """The conditions and the order of one page, for `where` and `order_by`."""

    which: Sequence[ColumnElement[bool]]
    by: Sequence[ColumnElement[Any]]


def order_rows(db: Session, table: type[Experiment] | type[Run], sort: str, *, after: int | None = None) -> ListOrder:
    """Return the order by the column that `sort` names, with "-" in front the reverse order; equal rows are by id.

    The page begins behind the row with id `after`. Rows whose column is null are not in the list. The values of the
    column must not change once they are set, so that no row moves between two pages. Raise UnknownRowError.
    """
    name = sort.removeprefix("-")
    column = getattr(table, name)
    keys = [column] if name == "id" else [column, table.id]
    which = [column.is_not(None)] if column.property.columns[0].nullable else []
    if after is not None:
        value = after if name == "id" else db.scalar(select(column).where(table.id == after))
        if value is None:
            raise UnknownRowError(after)
        place = (value, after)[-len(keys) :]
        which.append(tuple_(*keys) < place if sort.startswith("-") else tuple_(*keys) > place)
    return ListOrder(which, [one.desc() if sort.startswith("-") else one.asc() for one in keys])


def created_since(table: type[Run] | type[Experiment], moment: datetime) -> list[ColumnElement[bool]]:
    """Return the condition for rows that were created at the moment or later.

    Lists are ordered by id. Without the least id SQLite would read all older rows where few or none are later. The
    sum prevents the reading of the primary key from its start, for the minimum.
    """
    least = select(func.min(table.id + 0)).where(table.created_at >= moment).scalar_subquery()
    return [table.id >= least, table.created_at >= moment]
