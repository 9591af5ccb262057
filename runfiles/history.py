"""What earlier attempts wrote into a file of events, read from the file's end."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from .lines_backwards import lines_backwards
from .regular_file import open_regular

SEARCHED_BYTES = 1 << 28  # of the file's end: the program may have written anything after its last points
MAX_BYTES = 16 << 20  # that are searched while a program waits
MAX_NAMED_BYTES = 4 << 20  # that are searched for metrics that move: a script waits for it in its first log
MAX_LOST = MAX_NUMBER = 2**31 - 1
MAX_VALUES = 2_000  # metrics in one event
LAST_MOMENT = 253_402_300_799.0  # the end of the year 9999
MOVES = -1  # in place of the step of a metric that has several
MAX_MORE = 1_000  # points that are read after one below the first step: several sources may mix their steps
# metrics that Bigbatch measures of a program; their steps need not be the program's
OWN_METRICS = frozenset(("compute_s", "update_s", "communication_s", "input_s", "idle_s", "slowest_rank"))
NAME = re.compile("[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,200}")


class Resumption(NamedTuple):
    """Where an attempt resumed the run: after `step`, and how many steps of earlier attempts are lost."""

    step: int
    lost_steps: int


def last_step(path: str | os.PathLike[str]) -> int:
    """Return the step of the last point, of any attempt; 0 without one at the file's end, or if it cannot be read."""
    return read_last_step(path, SEARCHED_BYTES) or 0


def read_last_step(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> int | None:
    """Return the step of the file's last point, None without a point."""
    return next((event["step"] for event in read_backwards(path, max_bytes) if event["kind"] == "points"), None)


class ResumptionFinder:
    """Find where an attempt resumed the run, by the first of its points that tells.

    A point tells by a metric that earlier attempts logged and whose step moves. A metric that has one step in all
    attempts says nothing: Lightning's TensorBoardLogger writes `hp_metric` at step 0 whenever it starts.
    """

    def __init__(self, path: str | os.PathLike[str], attempt: int) -> None:
        self._path, self._attempt = path, attempt
        self._steps: dict[str, int] | None = None  # of each metric of earlier attempts: its one step, or MOVES
        self._first: dict[str, int] = {}  # steps at which this attempt logged its metrics first
        self.is_over = attempt == 1  # no point can tell any more, because the resumption has been reported

    def find(self, step: int, names: Iterable[str]) -> Resumption | None:
        """Return where the attempt resumed if a point of these metrics, the next one of the attempt, tells.

        The attempt continues from the last step below its first one that an earlier attempt logged; the later steps of
        the attempt before it are lost. None if nothing tells so far, and once the resumption has been reported.
        """
        if self.is_over:
            return None
        if self._steps is None:
            self._steps = _steps_of_metrics(self._path, self._attempt)
        first = None
        for name in names:
            before = self._steps.get(name)
            if before is not None:
                began = self._first.setdefault(name, step)
                if not before == began == step:
                    self._steps[name] = MOVES
                    first = began if first is None else min(first, began)
        return None if first is None else self._find(first, self._steps)

    def _find(self, first_step: int, steps: Mapping[str, int]) -> Resumption | None:
        history = History(first_step)
        for event in read_backwards(self._path):
            if event["attempt"] < self._attempt:
                moves = event["kind"] == "points" and any(steps.get(name) == MOVES for name in event["values"])
                if moves and not history.add(event["attempt"], event["step"]):
                    break
            elif event["kind"] == "resumed":
                self.is_over = True
                return None
        return history.resumption


def _steps_of_metrics(path: str | os.PathLike[str], attempt: int) -> dict[str, int]:
    """Return the step of each metric of earlier attempts; MOVES for a metric of several steps."""
    steps: dict[str, int] = {}
    for event in read_backwards(path, MAX_NAMED_BYTES):
        if event["kind"] == "points" and event["attempt"] < attempt:
            for name in event["values"].keys() - OWN_METRICS:
                if steps.setdefault(name, event["step"]) != event["step"]:
                    steps[name] = MOVES
    return steps


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


def read_backwards(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> Iterator[dict[str, Any]]:
    """Yield the points and resumptions at the end of the file, the last one first; none if it cannot be read."""
    with suppress(OSError), open_regular(path) as file:
        yield from filter(None, map(_parse, lines_backwards(file, max_bytes)))


def _parse(line: bytes) -> dict[str, Any] | None:
    """Return the event in a line if it is a point or a resumption that the service reads too."""
    if b"points" not in line and b"resumed" not in line:
        return None
    try:
        event = json.loads(line)
        is_event = event["kind"] == "resumed" or (event["kind"] == "points" and _are_values(event["values"]))
        is_read = _is_number(event["step"]) and _is_number(event["attempt"]) and 0 <= event["at"] <= LAST_MOMENT
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return event if is_event and is_read else None


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_NUMBER


def _are_values(values: Any) -> bool:
    return (
        isinstance(values, dict)
        and len(values) <= MAX_VALUES
        and all(map(NAME.fullmatch, values))
        and all(isinstance(value, (float, int, type(None))) for value in values.values())
    )
