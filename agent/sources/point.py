"""A point that a source holds, and the bounds of points: those of contract/folder/bounds.py."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from agent.sources.text_number import number_of, without_codes

MAX_STEP = 2**31 - 1
MAX_VALUES = 2_000  # metrics in one event
LAST_MOMENT = 253_402_300_799.0  # the end of the year 9999
NAME_RULE = "a name has 1 to 200 characters, none of them a control character"
_NAME = re.compile("[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}")


class NoStep(ValueError):
    """A value is no step; the message says why."""


class Point(NamedTuple):
    """The measured values of one step, at a moment in seconds since 1970."""

    step: int
    values: dict[str, float]
    at: float


def is_name(name: Any) -> bool:
    """Return whether a metric can have this name."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def step_of(value: Any) -> int:
    """Return the step that a number or a text means; raise NoStep if it is none that can be stored."""
    plain = without_codes(value).strip() if isinstance(value, str) else value
    number = number_of(plain) if isinstance(plain, str) and not plain.endswith("%") else plain
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if type(number) is not int:
        raise NoStep(f"the step {plain!r:.50} is no whole number")
    if not 0 <= number <= MAX_STEP:
        raise NoStep(f"the step {number!s:.50} is not between 0 and {MAX_STEP:,}")
    return number


def clamp_moment(at: float) -> float:
    """Return the moment, or the nearest one between 1970 and the year 9999; 1970 for NaN."""
    return min(max(at, 0.0), LAST_MOMENT) if not math.isnan(at) else 0.0


def event_of(point: Point, attempt: int) -> dict[str, Any]:
    """Return the event that reports a point."""
    return {"kind": "points", "attempt": attempt, "at": point.at, "step": point.step, "values": dict(point.values)}


def joined(points: Iterable[Point]) -> list[Point]:
    """Join neighbors of one step, as the scalars that TensorBoard writes one by one."""
    result: list[Point] = []
    for point in points:
        last = result[-1] if result else None
        if last and last.step == point.step and len(last.values) + len(point.values) <= MAX_VALUES:
            last.values.update(point.values)
        else:
            result.append(Point(point.step, dict(point.values), point.at))
    return result
