"""The values of a query as numbers, durations and moments."""

import re
from datetime import UTC, datetime, timedelta

from store.run_table.query import QueryError, Value
from store.tables.base import now

_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)d)?(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?")
NOT_FINITE = {"nan": "nan", "-inf": "-inf"} | dict.fromkeys(("inf", "+inf"), "inf")
_UNITS_S = (86_400.0, 3_600.0, 60.0, 1.0)
FIRST, LAST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)


def is_missing(value: Value) -> bool:
    """Return whether the value stands for no value; `none` is a text as any other."""
    return not value.is_quoted and value.text.lower() == "null"


def is_missing_number(value: Value) -> bool:
    """Return the same for a field without texts, where `none` can mean nothing else."""
    return is_missing(value) or (not value.is_quoted and value.text.lower() == "none")


def not_finite_word(value: Value) -> str | None:
    """Return nan, inf or -inf for a value that means one of them; None for any other value."""
    if value.is_quoted:
        return None
    return NOT_FINITE.get(value.text.lower())


def number_of(value: Value) -> float:
    """Return a number; `95%` is 0.95."""
    found = number_or_none(value)
    if found is None:
        raise QueryError(f"expected a number, not {value.text!r}", value.place)
    return found


def number_or_none(value: Value) -> float | None:
    """Return the number that an unquoted value is; None for a text."""
    text = value.text.removesuffix("%")
    try:
        found = float(text)
    except ValueError:
        return None
    if value.is_quoted or found != found or abs(found) == float("inf") or "_" in text:
        return None
    return found / 100 if value.text.endswith("%") else found


def seconds_of(value: Value) -> float:
    """Return a duration in seconds: `90`, `90s`, `2h30m`, `1.5d`."""
    match = _DURATION.fullmatch(value.text)
    if not value.text or match is None:
        raise QueryError(f"expected a duration such as 90s, 2h30m or 1d, not {value.text!r}", value.place)
    parts = zip(match.groups(), _UNITS_S, strict=True)
    return sum(float(part) * unit for part, unit in parts if part)


def moment_of(value: Value) -> datetime:
    """Return a moment: `2026-11-26`, `2026-11-26T08:00`, in UTC without a zone; `-7d` is seven days ago."""
    expected = f"expected a date such as 2026-11-26, or -7d for seven days ago, not {value.text!r}"
    if value.text.startswith("-"):
        ago = Value(value.text[1:], value.place)
        try:
            found = now() - timedelta(seconds=seconds_of(ago))
        except (QueryError, OverflowError):
            raise QueryError(expected, value.place) from None
    else:
        try:
            found = datetime.fromisoformat(value.text)
        except ValueError:
            raise QueryError(expected, value.place) from None
    found = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    if not FIRST <= found <= LAST:
        raise QueryError(f"expected a moment from {FIRST.year} to {LAST.year}", value.place)
    return found
