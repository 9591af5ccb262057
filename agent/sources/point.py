"""A point that a source holds, and the bounds of points: those of contract/folder/bounds.py."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

MAX_STEP = 2**31 - 1
MAX_VALUES = 2_000  # metrics in one event
LAST_MOMENT = 253_402_300_799.0  # the end of the year 9999
_NAME = re.compile("[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}")


class Point(NamedTuple):
    """The measured values of one step, at a moment in seconds since 1970."""

    step: int
    values: dict[str, float]
    at: float


def is_name(name: Any) -> bool:
    """Return whether a metric can have this name."""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None


def is_step(step: Any) -> bool:
    """Return whether a step can be stored."""
    return type(step) is int and 0 <= step <= MAX_STEP


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
