"""Source: the program's output; a regular expression finds the metrics of one step in a line."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Any

from agent.folder.output_ends import OutputEnds
from agent.sources.growing_file import read_lines
from agent.sources.point import MAX_STEP, Point, is_name, is_step
from agent.sources.source import Reading, Source

LOG = "out.log"
STEP = "step"  # the group of the step
MAX_CHARACTERS = 2_000  # of a line that is searched: an expression may take a time that grows fast with the length


class OutputSource(Source):
    """The named groups of a regular expression are the metrics; the group `step`, or a counter, is the step."""

    def __init__(self, spec: Mapping[str, Any], run_folder: str, cursors: Mapping[str, Any]) -> None:
        self._path = os.path.join(run_folder, LOG)
        self._pattern = re.compile(spec["pattern"])
        self._cursors = {"at": 0, "step": 0, **cursors}
        self._ends = OutputEnds()

    def skip(self) -> None:
        """Leave out the lines that the output has now."""
        self._cursors["at"] = os.path.getsize(self._path) if os.path.exists(self._path) else 0

    def read(self, max_bytes: int) -> Reading:
        """Return the points of the new lines that match."""
        part = read_lines(self._path, self._cursors["at"], max_bytes)
        points, step = [], self._cursors["step"]
        for line in part.lines:
            text = self._ends.take(line)[-MAX_CHARACTERS:].decode("utf-8", "replace")
            point = self._point(text, min(step + 1, MAX_STEP))
            if point:
                points.append(point)
                step = point.step
        return Reading(points, {"at": part.cursor, "step": step}, part.more)

    def search_now(self) -> None:
        """Do nothing: there is one file."""

    def has_output_of(self, attempt: int, agents: int) -> bool:
        """Return whether the last line of each agent of the attempt has been read."""
        return self._ends.are_complete(attempt, agents)

    def accept(self, cursors: Mapping[str, Any]) -> None:
        """Continue from these cursors at the next read."""
        self._cursors = dict(cursors)

    def _point(self, line: str, next_step: int) -> Point | None:
        match = self._pattern.search(line)
        if match is None:
            return None
        groups = match.groupdict()
        step = _number(groups.pop(STEP, None)) if STEP in groups else float(next_step)
        numbers = {name: _number(text) for name, text in groups.items()}
        values = {name: number for name, number in numbers.items() if number is not None and is_name(name)}
        whole = int(step) if step is not None and step.is_integer() else None
        return Point(whole, values, time.time()) if values and whole is not None and is_step(whole) else None


def _number(text: str | None) -> float | None:
    """Return the number in a text such as "0.31", "1e-4", "1,024" or "nan"; None for another text."""
    try:
        return None if text is None else float(text.strip().replace(",", ""))
    except ValueError:
        return None
