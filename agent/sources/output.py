"""Source: the output of one rank, or of any; a regular expression finds the metrics of one step in a line.

The lines are in files of their own for each rank and stream (agent/folder/output_files.py). A file that all sources
have read to its end, or do not read, is deleted once its writer has ended and the cursors are stored.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from agent.folder.output_files import END, OutputFile, list_output_files, rank_of, read_ends
from agent.sources.growing_file import MAX_LINE_BYTES, Lines, read_lines
from agent.sources.left_out import OPENING, LeftOut
from agent.sources.places import Folders
from agent.sources.point import MAX_STEP, NoStep, Point, is_name, step_of
from agent.sources.source import Reading, Rest, Source
from agent.sources.text_number import number_of, without_codes

ATTEMPTS, LOG = "attempts", "out.log"  # an earlier version of the agent read the lines in the log
STEP = "step"  # the group of the step
ANY = "any"  # in place of a rank: the lines of all ranks are one stream
MAX_CHARACTERS = 2_000  # of a line that is searched: an expression may take a time that grows fast with the length
MIN_BYTES = 2 * MAX_LINE_BYTES  # of each file in one round
MAX_OTHERS, MAX_SHOWN = 128, 5  # files of other ranks that are searched where nothing was found; ranks in the message


class OutputSource(Source):
    """The named groups of a regular expression are the metrics; the group `step`, or a counter, is the step."""

    def __init__(self, spec: Mapping[str, Any], folders: Folders, cursors: Mapping[str, Any]) -> None:
        self._folder, self._attempts = folders.run, os.path.join(folders.run, ATTEMPTS)
        self._pattern = re.compile(spec["pattern"])
        rank = spec.get("rank", 0)
        self._rank = rank if type(rank) is int else None  # None: all ranks are read
        self._attempt: int | None = None  # None: the rest of all earlier attempts is read
        self._turn = 0  # the file that is read first
        places = dict(cursors.get("files", {LOG: cursors["at"]} if "at" in cursors else {}))
        self._cursors: dict[str, Any] = {"step": cursors.get("step", 0), "files": places}

    def skip(self) -> None:
        """Do nothing: no other run writes to these files."""

    def begin(self, attempt: int, ranks: int) -> None:
        """Read the lines of this attempt from now on."""
        self._attempt = attempt

    def read(self, max_bytes: int, rest: Rest = Rest.WAITS) -> Reading:
        """Return the points of the new lines that match; the files take turns."""
        files, known = self._files(), self._cursors["files"]
        ends = {} if rest is Rest.WAITS else self._ends(files)
        paths = self._read_paths(files)
        # a file of an earlier attempt that is gone was read to its end
        places = {name: place for name, place in known.items() if self._attempt is not None or name in paths}
        points: list[Point] = []
        step, left, more, left_out = self._cursors["step"], max_bytes, False, LeftOut()
        for name in self._in_turn(list(paths)):
            if left <= 0:
                more = True
                break
            place = places.get(name, 0)
            part = read_lines(paths[name], place, max(max_bytes // len(paths), MIN_BYTES), may_restart=False)
            is_over = self._attempt is None or name in ends
            lines, places[name] = self._lines(part, rest if is_over else Rest.WAITS, left_out)
            for line in lines:
                point = self._point(line, min(step + 1, MAX_STEP), left_out)
                if point:
                    points.append(point)
                    step = point.step
            left -= places[name] - place
            more = more or part.more
        if rest is not Rest.WAITS and not more:
            places.pop(LOG, None)  # what follows there is in the files as well
        return Reading(points, {"step": step, "files": places}, more, left_out)

    def reason_for_nothing(self) -> str:
        """Return why there is no metric."""
        others: list[int] = []
        with suppress(OSError):
            others += sorted({rank for rank, path in self._others() if self._is_found_in(path)})
        if not others:
            return "the pattern was found in no line of the output"
        first, *more = others
        ranks = f"rank {first}" if not more else f"ranks {', '.join(map(str, others[:MAX_SHOWN]))}"
        ending = ", ..." if len(others) > MAX_SHOWN else ""
        return f"the pattern was found in lines of {ranks}{ending} only; set `rank: {first}`"

    def search_now(self) -> None:
        """Do nothing: each read looks for new files."""

    def has_output_of(self, ranks: int) -> bool:
        """Return whether the output of so many ranks of the attempt has ended, and is read to its end."""
        try:
            ends, places = self._ends(self._files()), self._cursors["files"]
        except OSError:  # a file server that does not answer for a moment
            return False
        has_all = len({rank_of(name) for name in ends}) >= ranks
        return has_all and all(places.get(name, 0) >= end for name, end in ends.items() if self._is_read(name))

    def finished(self, cursors: Mapping[str, Any]) -> set[str]:
        """Return the files that these cursors need no more, with the records of ends that name no other."""
        files, places = self._files(), cursors.get("files", {})
        ends, paths = self._ends(files), self._paths(files)
        read = set()
        for name, path in paths.items():
            with suppress(OSError):
                is_over = self._attempt is None or name in ends
                if is_over and (not self._is_read(name) or places.get(name, -1) >= os.path.getsize(path)):
                    read.add(name)
        left = paths.keys() - read
        records = read_ends(self._attempts, files)
        return {*(read - {LOG}), *(name for name, own in records.items() if not left & own.keys())}

    def accept(self, cursors: Mapping[str, Any]) -> None:
        """Continue from these cursors at the next read."""
        self._cursors = dict(cursors)

    def _files(self) -> list[OutputFile]:
        """Return the files of the attempt, or of all earlier ones."""
        found = list_output_files(self._attempts)
        return [file for file in found if self._attempt in (None, file.attempt)]

    def _paths(self, files: Sequence[OutputFile]) -> dict[str, str]:
        """Return the paths of the files with lines, by name."""
        paths = {file.name: os.path.join(self._attempts, file.name) for file in files if file.kind != END}
        if self._attempt is None and LOG in self._cursors["files"]:
            paths[LOG] = os.path.join(self._folder, LOG)
        return paths

    def _read_paths(self, files: Sequence[OutputFile]) -> dict[str, str]:
        """Return the paths of the files that this source reads, by name."""
        return {name: path for name, path in self._paths(files).items() if self._is_read(name)}

    def _is_read(self, name: str) -> bool:
        return self._rank is None or name == LOG or rank_of(name) == self._rank

    def _others(self) -> list[tuple[int, str]]:
        """Return the ranks and the paths of files of ranks that are not read, of some ranks at most."""
        paths = self._paths(self._files())
        return [(rank_of(name), path) for name, path in paths.items() if not self._is_read(name)][:MAX_OTHERS]

    def _is_found_in(self, path: str) -> bool:
        return any(map(self._match, read_lines(path, 0, MIN_BYTES).lines))

    def _ends(self, files: Sequence[OutputFile]) -> dict[str, int]:
        """Return the byte after the last whole line of each file whose writer has ended."""
        records = read_ends(self._attempts, files)
        return {name: end for own in records.values() for name, end in own.items()}

    def _in_turn(self, names: Sequence[str]) -> Iterator[str]:
        """Yield the names from the one that was not reached in the last round on."""
        first = self._turn % max(len(names), 1)
        for number in range(first, first + len(names)):
            self._turn = number
            yield names[number % len(names)]
        self._turn = 0

    def _lines(self, part: Lines, rest: Rest, left_out: LeftOut) -> tuple[list[bytes], int]:
        """Return the lines to search, and the place in the file after them."""
        if rest is Rest.WAITS or part.more:
            return part.lines, part.cursor
        *whole, last = part.rest.splitlines() or [b""]
        if rest is Rest.TORN and self._match(last):
            left_out.add(_text_of(last), "the line has no end: the program may have been killed within a number")
        ends = [last] if rest is Rest.WHOLE else []
        return [*part.lines, *whole, *ends], part.cursor + len(part.rest)

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
