"""Source: a file of JSON lines; each line is one object, whose numbers are the metrics of one step."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from typing import Any

from agent.sources.growing_file import read_lines
from agent.sources.point import MAX_STEP, MAX_VALUES, Point, is_name, is_step
from agent.sources.source import Reading, Source, resolve

MAX_DEPTH = 5  # of nested objects
FIRST_STEP = 1  # of lines without a step


class JsonLinesSource(Source):
    """The numbers of each line, nested ones as "train/loss"; the step is a field, or counts up."""

    def __init__(self, spec: Mapping[str, Any], run_folder: str, cursors: Mapping[str, Any]) -> None:
        self.path, self.is_shared = resolve(run_folder, spec["file"])
        self._step_field = spec.get("step") or "step"
        self._cursors = {"at": 0, "step": 0, **cursors}

    def skip(self) -> None:
        """Leave out the lines that the file has now."""
        self._cursors["at"] = os.path.getsize(self.path) if os.path.exists(self.path) else 0

    def read(self, max_bytes: int) -> Reading:
        """Return the points of the new lines; what is no object with a number is skipped."""
        part = read_lines(self.path, self._cursors["at"], max_bytes)
        points, step = [], self._cursors["step"]
        for line in part.lines:
            point = self._point(line, min(step + 1, MAX_STEP))
            if point:
                points.append(point)
                step = point.step
        return Reading(points, {"at": part.cursor, "step": step}, part.more)

    def search_now(self) -> None:
        """Do nothing: there is one file."""

    def accept(self, cursors: Mapping[str, Any]) -> None:
        """Continue from these cursors at the next read."""
        self._cursors = dict(cursors)

    def _point(self, line: bytes, next_step: int) -> Point | None:
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(document, dict):
            return None
        step = document.pop(self._step_field, next_step)
        if isinstance(step, float) and step.is_integer():
            step = int(step)
        values = dict(list(_numbers(document))[:MAX_VALUES])
        return Point(step, values, time.time()) if values and is_step(step) else None


def _numbers(document: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    for key, value in document.items():
        name = prefix + key
        if isinstance(value, dict) and depth < MAX_DEPTH:
            yield from _numbers(value, f"{name}/", depth + 1)
        elif isinstance(value, (int, float)) and not isinstance(value, bool) and is_name(name):
            yield name, _float(value)


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")
