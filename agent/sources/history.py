"""What earlier attempts wrote into a file of events, read from the file's end."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

BLOCK_BYTES = 1 << 16
MAX_BYTES = 16 << 20  # of the file's end that are searched
MAX_LOST = 2**31 - 1


class Resumption(NamedTuple):
    """Where an attempt resumed the run: after `step`, and how many steps of earlier attempts are lost."""

    step: int
    lost_steps: int


def read_last_step(path: str) -> int | None:
    """Return the step of the file's last point, None without a point."""
    return next((event["step"] for event in _read_backwards(path) if event["kind"] == "points"), None)


def find_resumption(path: str, attempt: int, first_step: int) -> Resumption | None:
    """Return where `attempt` resumed the run if `first_step` is the first step that it logs.

    The attempt continues from the last logged step before its first one; the steps after that are lost. None if no
    earlier attempt logged a step, or if the resumption has been reported.
    """
    last: int | None = None
    above = Lowest()
    for event in _read_backwards(path):
        step = event["step"]
        if event["attempt"] >= attempt:
            if event["kind"] == "resumed":
                return None
        elif event["kind"] == "points":
            last = step if last is None else last
            if step < first_step:
                return _resumption(step, last)
            above.add(step)
    return None if last is None else _resumption(first_step - above.gap, last)


class Lowest:
    """The two lowest steps that were added, and the distance between them."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._second: int | None = None

    def add(self, step: int) -> None:
        """Add a step."""
        if self._first is None or step < self._first:
            self._first, self._second = step, self._first
        elif step > self._first and (self._second is None or step < self._second):
            self._second = step

    @property
    def gap(self) -> int:
        """The distance between the two, such as 10 if a script logs every tenth step; 1 if it is not known."""
        return 1 if self._first is None or self._second is None else self._second - self._first


def _resumption(step: int, last: int) -> Resumption:
    return Resumption(max(0, step), min(max(0, last - step), MAX_LOST))


def _read_backwards(path: str) -> Iterator[dict[str, Any]]:
    """Yield the points and resumptions at the end of the file, the last one first; none if it cannot be read."""
    try:
        with open(path, "rb") as file:
            end, rest = file.seek(0, os.SEEK_END), b""
            stop = max(0, end - MAX_BYTES)
            while end > stop:
                start = max(stop, end - BLOCK_BYTES)
                file.seek(start)
                rest, *lines = (file.read(end - start) + rest).split(b"\n")
                yield from filter(None, map(_parse, reversed(lines)))
                end = start
        event = _parse(rest) if not end else None
    except OSError:
        return
    if event:
        yield event


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the event in a line if it is a point or a resumption with a step and an attempt."""
    if b"points" not in line and b"resumed" not in line:
        return None
    try:
        event = json.loads(line)
        is_event = event["kind"] in ("points", "resumed")
        is_whole = isinstance(event["step"], int) and isinstance(event["attempt"], int)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return event if is_event and is_whole else None
