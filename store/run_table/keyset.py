"""The place of a run in an order, by its values: a page continues behind it, whatever happens to the run meanwhile."""

import json
from collections.abc import Sequence
from datetime import datetime
from math import isfinite
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Float, Integer, Numeric, and_, false, or_

from store.column_types import UtcDateTime
from store.tables import Run

Condition = ColumnElement[bool]


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


def place_after(row: Sequence[Any]) -> str:
    """Return the place behind a row, which has the id of a run and the values of the keys."""
    return json.dumps([value.isoformat() if isinstance(value, datetime) else value for value in row])


def beyond(keys: Sequence[Key], place: str) -> Condition:
    """Return the condition for the runs behind a place; equal runs are newest first. Raise PlaceError."""
    run_id, values = _read(keys, place)
    found: Condition = Run.id < run_id
    for key, value in reversed(list(zip(keys, values, strict=True))):
        found = or_(_is_later(key, value), and_(_equals(key, value), found))
    return found


def _is_later(key: Key, value: Any) -> Condition:
    if value is None:
        return false()
    later = key.expression < value if key.is_descending else key.expression > value
    return or_(later, key.expression.is_(None))


def _equals(key: Key, value: Any) -> Condition:
    return key.expression.is_(None) if value is None else key.expression == value


def _read(keys: Sequence[Key], place: str) -> tuple[int, list[Any]]:
    try:
        run_id, *values = json.loads(place)
        if type(run_id) is not int or not 0 <= run_id < 2**31 or len(values) != len(keys):
            raise PlaceError(place)
        return run_id, [_value(key, value) for key, value in zip(keys, values, strict=True)]
    except (ValueError, TypeError, RecursionError) as error:
        raise PlaceError(place) from error


def _value(key: Key, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(key.expression.type, UtcDateTime):
        return datetime.fromisoformat(value)
    is_number = type(value) in (int, float) and isfinite(value) and abs(value) < 2**1023
    if is_number != isinstance(key.expression.type, Integer | Float | Numeric) or not isinstance(
        value, int | float | str
    ):
        raise PlaceError(value)
    return value
