"""Source: a file of JSON lines; each line is one object, whose numbers are the metrics of one step."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from agent.sources.growing_file import MAX_LINE_BYTES, read_lines
from agent.sources.left_out import LeftOut
from agent.sources.places import Folders, Place
from agent.sources.point import MAX_STEP, MAX_VALUES, NAME_RULE, NoStep, Point, is_name, step_of
from agent.sources.source import Reading, Rest, Source
from agent.sources.text_number import number_of

MAX_DEPTH = 5  # of nested objects
FIRST_STEP = 1  # of lines without a step
TOO_LONG = f"a line has more than {MAX_LINE_BYTES:,} bytes"


class JsonLinesSource(Source):
    """The numbers of each line, nested ones as "train/loss"; the step is a field, or counts up."""

    def __init__(self, spec: Mapping[str, Any], folders: Folders, cursors: Mapping[str, Any]) -> None:
        self._place = Place(folders, spec["file"])
        self.is_shared = self._place.is_shared
        self._step_field = spec.get("step") or "step"
        self._cursors = {"at": 0, "step": 0, "is_inside": False, **cursors}

    def skip(self) -> None:
        """Leave out the lines that the file has now, if they are not of this run."""
        path = self._place.path
        if os.path.exists(path) and self._place.has_older(path):
            self._cursors.update(at=os.path.getsize(path), path=path)

    def read(self, max_bytes: int, rest: Rest = Rest.WAITS) -> Reading:
        """Return the points of the new lines; a line that is no object is left out."""
        path = self._place.path
        if self._cursors.get("path", path) != path:  # a file of the run's folder goes before one of the working folder
            self._cursors.update(at=0, is_inside=False)
        part = read_lines(path, self._cursors["at"], max_bytes)
        left_out, lines, at = LeftOut(), part.lines, part.cursor
        was_inside = self._cursors["is_inside"] and at >= self._cursors["at"]  # else the file was written anew
        if part.is_inside and not was_inside:
            left_out.add("", TOO_LONG)
        if rest is not Rest.WAITS and part.rest and (_document_of(part.rest) or not self.is_shared):
            lines, at = [*lines, part.rest], at + len(part.rest)
        is_inside = part.is_inside or (was_inside and not lines)
        if was_inside:
            lines = lines[1:]  # the end of a line that is too long, which was counted at its beginning
        points, step = [], self._cursors["step"]
        for line in lines:
            point = self._point(line, min(step + 1, MAX_STEP), left_out)
            if point:
                points.append(point)
                step = point.step
        return Reading(points, {"at": at, "step": step, "is_inside": is_inside, "path": path}, part.more, left_out)

    def reason_for_nothing(self) -> str:
        """Return why there is no metric."""
        path = self._place.path
        return "no line has a number" if os.path.exists(path) else f"there is no file {path}"

    def search_now(self) -> None:
        """Do nothing: there is one file."""

    def begin(self, attempt: int, ranks: int) -> None:
        """Do nothing: all attempts write to the file."""

    def accept(self, cursors: Mapping[str, Any]) -> None:
        """Continue from these cursors at the next read."""
        self._cursors = dict(cursors)

    def _point(self, line: bytes, next_step: int, left_out: LeftOut) -> Point | None:
        if not line.strip():
            return None
        text = line[:MAX_LINE_BYTES].decode("utf-8", "replace")
        if len(line) > MAX_LINE_BYTES:
            left_out.add(text, TOO_LONG)
            return None
        document = _document_of(line)
        if document is None:
            left_out.add(text, "a line is no object of JSON")
            return None
        wanted = document.pop(self._step_field, next_step)
        values: dict[str, float] = {}
        for name, value in _numbers(document):
            if reason := _fault_of(name, value, len(values)):
                left_out.add(name, reason)
            elif value is not None:
                values[name] = value
        try:
            return Point(step_of(wanted), values, time.time()) if values else None
        except NoStep as error:
            left_out.add(text, str(error), len(values))
            return None


def _document_of(line: bytes) -> dict[str, Any] | None:
    """Return the object in a line; None if the line is something else."""
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _fault_of(name: str, value: float | None, count: int) -> str | None:
    """Return why a number is left out, None for a metric."""
    if value is None:
        return f"it is nested in more than {MAX_DEPTH} objects"
    if not is_name(name):
        return NAME_RULE
    return f"a line has more than {MAX_VALUES:,} numbers" if count >= MAX_VALUES else None


def _numbers(document: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, float | None]]:
    """Yield names and numbers, also those written as texts; None for an object that is nested too deep."""
    for key, value in document.items():
        name = prefix + key
        if isinstance(value, dict) and depth < MAX_DEPTH:
            yield from _numbers(value, f"{name}/", depth + 1)
        elif isinstance(value, dict):
            yield name, None
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield name, _float(value)
        elif isinstance(value, str) and (number := number_of(value)) is not None:  # of `json.dumps(..., default=str)`
            yield name, number


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
