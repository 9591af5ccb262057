"""The place of a run in an order, by its values: a page continues behind it, whatever happens to the run meanwhile."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, ColumnElement, Float, Integer, Numeric, String, and_, false, func, literal, or_
from sqlalchemy.sql.visitors import iterate

from store.run_table.columns import MOMENT
from store.tables.column_types import UtcDateTime
from store.tables.runs import Run

Condition = ColumnElement[bool]
MOST_TEXT = 200  # characters by which texts are sorted


class Key(NamedTuple):
    """An expression of an order; runs without a value come last."""

    expression: ColumnElement[Any]
    is_descending: bool

    @property
    def clause(self) -> ColumnElement[Any]:
        """The part of ORDER BY."""
        return (self.expression.desc() if self.is_descending else self.expression.asc()).nulls_last()


class PlaceError(ValueError):
    """A text is no place in the order."""


class Place(NamedTuple):
    """The run that a page ends with, and the values of its keys."""

    run_id: int
    values: Sequence[Any]
    moment: datetime | None  # at which an order by a time that goes on was begun


def key_of(expression: ColumnElement[Any], *, is_descending: bool) -> Key:
    """Return the key of an expression; of texts the begin alone, because a place holds it."""
    if isinstance(expression.type, String):
        expression = func.substr(expression, 1, MOST_TEXT, type_=String())
    return Key(expression, is_descending)


def goes_on(keys: Sequence[Key]) -> bool:
    """Return whether a key grows with the time, so that all pages need the moment of the first one."""
    return any(
        isinstance(part, BindParameter) and part.key == MOMENT for key in keys for part in iterate(key.expression)
    )


def place_after(row: Sequence[Any], moment: datetime | None) -> str:
    """Return the place behind a row, which has the id of a run and the values of the keys."""
    values = [*row, moment] if moment else row
    plain = [value.isoformat() if isinstance(value, datetime) else value for value in values]
    return json.dumps(plain, ensure_ascii=False)


def beyond(keys: Sequence[Key], place: Place) -> Condition:
    """Return the condition for the runs behind a place; equal runs are newest first."""
    found: Condition = Run.id < place.run_id
    for key, value in reversed(list(zip(keys, place.values, strict=True))):
        found = or_(_is_later(key, value), and_(_equals(key, value), found))
    return found


def _is_later(key: Key, value: Any) -> Condition:
    if value is None:
        return false()
    later = key.expression < value if key.is_descending else key.expression > value
    return or_(later, key.expression.is_(None))


def _equals(key: Key, value: Any) -> Condition:
    return key.expression.is_(None) if value is None else key.expression == value


def read_place(keys: Sequence[Key], text: str) -> Place:
    """Return the place of a text in the order of these keys; raise PlaceError."""
    try:
        run_id, *values = json.loads(text)
        moment = _moment(values.pop()) if goes_on(keys) else None
        if type(run_id) is not int or not 0 <= run_id < 2**31 or len(values) != len(keys):
            raise PlaceError(text)
        return Place(run_id, [_value(key, value) for key, value in zip(keys, values, strict=True)], moment)
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError) as error:
        raise PlaceError(text) from error


def _value(key: Key, value: Any) -> Any:
    if value is None:
        return None
    match key.expression.type:
        case UtcDateTime():
            return _moment(value)
        case Integer() | Float() | Numeric():
            return _number(value)
        case _:
            return _text(value)


def _moment(value: Any) -> datetime:
    found = datetime.fromisoformat(value)
    if found.tzinfo is None:
        raise PlaceError(value)
    return found.astimezone(UTC)


def _number(value: Any) -> ColumnElement[float]:
    if type(value) not in (int, float) or not isfinite(value):
        raise PlaceError(value)
    # as no whole number, of which each database has a greatest one; those of the keys are far below 2**53
    return literal(float(value), Float())


def _text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise PlaceError(value)
    value.encode()  # a lone surrogate is a ValueError
    return value
