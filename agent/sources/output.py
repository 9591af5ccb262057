"""Source: the program's output; a regular expression finds the metrics of one step in a line."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Any

from agent.folder.output_ends import OutputEnds
from agent.sources.growing_file import read_lines
from agent.sources.left_out import OPENING, LeftOut
from agent.sources.point import MAX_STEP, NoStep, Point, is_name, step_of
from agent.sources.source import Reading, Rest, Source
from agent.sources.text_number import number_of, without_codes

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

    def read(self, max_bytes: int, rest: Rest = Rest.WAITS) -> Reading:
        """Return the points of the new lines that match."""
        part = read_lines(self._path, self._cursors["at"], max_bytes)
        points, step, at, left_out = [], self._cursors["step"], part.cursor, LeftOut()
        lines = part.lines
        if rest is not Rest.WAITS:
            *whole, last = part.rest.splitlines() or [b""]
            lines, at = [*lines, *whole], at + len(part.rest)
            if rest is Rest.WHOLE:
                lines.append(last)
            elif self._match(last):
                left_out.add(_text_of(last), "the line has no end: the program may have been killed within a number")
        for line in lines:
            point = self._point(self._ends.take(line), min(step + 1, MAX_STEP), left_out)
            if point:
                points.append(point)
                step = point.step
        return Reading(points, {"at": at, "step": step}, part.more, left_out)

    def reason_for_nothing(self) -> str:
        """Return why there is no metric."""
        return "the pattern was found in no line of the output"

    def search_now(self) -> None:
        """Do nothing: there is one file."""

    def has_output_of(self, attempt: int, agents: int) -> bool:
        """Return whether the last line of each agent of the attempt has been read."""
        return self._ends.are_complete(attempt, agents)

    def accept(self, cursors: Mapping[str, Any]) -> None:
        """Continue from these cursors at the next read."""
        self._cursors = dict(cursors)

    def _match(self, line: bytes) -> re.Match[str] | None:
        """Return where the pattern is in a line without its colors, or with the codes of its colors."""
        text = _text_of(line)
        plain = without_codes(text)
        return self._pattern.search(plain) or (self._pattern.search(text) if plain != text else None)

    def _point(self, line: bytes, next_step: int, left_out: LeftOut) -> Point | None:
        match = self._match(line)
        if match is None:
            return None
        groups = match.groupdict()
        wanted = groups.pop(STEP) if STEP in groups else next_step
        values: dict[str, float] = {}
        for name, text in groups.items():
            number = None if text is None else number_of(text)
            if number is not None and is_name(name):
                values[name] = number
            elif text is not None:
                left_out.add(match[0], f"{name}: {text!r:.60} is no number")
        try:
            return Point(step_of(wanted), values, time.time()) if values else None
        except NoStep as error:
            left_out.add(match[0], str(error), len(values))
            return None


def _text_of(line: bytes) -> str:
    """Return the end of a line, without what the sources wrote there: an example must not be read once more."""
    own = line.find(OPENING.encode())
    return (line if own < 0 else line[:own])[-MAX_CHARACTERS:].decode("utf-8", "replace")
