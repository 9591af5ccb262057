"""What earlier attempts wrote into a file of events, read from the file's end."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

BLOCK_BYTES = 1 << 16
MAX_BYTES = 16 << 20  # of the file's end that are searched
MAX_LOST = MAX_NUMBER = 2**31 - 1
LAST_MOMENT = 253_402_300_799.0  # the end of the year 9999
MAX_MORE = 1_000  # points that are read after one below the first step: several sources may mix their steps
NAME = re.compile("[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}")


class Resumption(NamedTuple):
    """Where an attempt resumed the run: after `step`, and how many steps of earlier attempts are lost."""

    step: int
    lost_steps: int


def read_last_step(path: str) -> int | None:
    """Return the step of the file's last point, None without a point."""
    return next((event["step"] for event in _read_backwards(path) if event["kind"] == "points"), None)


def find_resumption(path: str, attempt: int, first_step: int) -> Resumption | None:
    """Return where `attempt` resumed the run if `first_step` is the first step that it logs.

    The attempt continues from the last step below its first one that an earlier attempt logged; the later steps of the
    attempt before it are lost. None if no earlier attempt logged a step, or if the resumption has been reported.
    """
    history = History(first_step)
    for event in _read_backwards(path):
        if event["attempt"] < attempt:
            if event["kind"] == "points" and not history.add(event["attempt"], event["step"]):
                break
        elif event["kind"] == "resumed":
            return None
    return history.resumption


class History:
    """The steps of earlier attempts, added from the last one backwards."""

    def __init__(self, first_step: int) -> None:
        self._first_step = first_step
        self._above = Lowest()
        self._attempt = self._latest = -1
        self._last: int | None = None  # the last step of the latest attempt
        self._base: int | None = None  # the last step below the first one
        self._more = MAX_MORE

    def add(self, attempt: int, step: int) -> bool:
        """Add a step; return False once more steps cannot change the result."""
        if attempt != self._attempt:
            if self._base is not None:
                return False
            self._attempt = attempt
            self._latest = attempt if self._latest < 0 else self._latest
        if attempt == self._latest:
            self._last = step if self._last is None else max(step, self._last)
        if step < self._first_step:
            self._base = step if self._base is None else max(step, self._base)
        else:
            self._above.add(step)
        self._more -= self._base is not None
        return self._more > 0

    @property
    def resumption(self) -> Resumption | None:
        """Where the attempt resumed; None without an earlier step."""
        if self._last is None:
            return None
        base = self._first_step - self._above.gap if self._base is None else self._base
        return Resumption(max(0, base), min(max(0, self._last - base), MAX_LOST))


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
    """Return the event in a line if it is a point or a resumption that the service reads too."""
    if b"points" not in line and b"resumed" not in line:
        return None
    try:
        event = json.loads(line)
        is_event = event["kind"] == "resumed" or (event["kind"] == "points" and _are_names(event["values"]))
        is_read = _is_number(event["step"]) and _is_number(event["attempt"]) and 0 <= event["at"] <= LAST_MOMENT
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return event if is_event and is_read else None


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_NUMBER


def _are_names(values: Any) -> bool:
    return isinstance(values, dict) and all(map(NAME.fullmatch, values))
