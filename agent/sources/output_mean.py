"""Source: the mean of the metrics that the ranks print, over the ranks that have printed the step.

The steps of a rank grow. A step is complete once each rank has printed a later one, or has ended; so the newest step
waits for the next one. What is not complete is read again in the next round, and nothing is kept in memory. A rank that
is behind another one by HELD_BYTES of lines, as one that prints nothing, is not awaited any more.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, NamedTuple

from agent.folder.output_files import STREAMS, OutputFile, rank_of
from agent.sources.growing_file import Lines, read_lines
from agent.sources.left_out import LeftOut
from agent.sources.output import LOG, MIN_BYTES, STEP, OutputSource
from agent.sources.places import Folders
from agent.sources.point import MAX_STEP, Point
from agent.sources.source import Reading, Rest

MEAN = "mean"  # in place of a rank
HELD_BYTES = 1 << 15  # of lines that wait for other ranks
LATE = "other ranks were far ahead, or the step is a lower one than before: its mean was stored already"


class _Line(NamedTuple):
    """A line whose metrics wait, the byte at which it starts, and what was left out of it."""

    start: int
    point: Point | None
    left_out: LeftOut


class _Stream(NamedTuple):
    """What is new in one file: lines that match, the byte after all lines, and whether nothing can follow."""

    rank: int
    lines: list[_Line]
    end: int
    is_over: bool
    is_behind: bool  # the file goes on beyond what was read

    @property
    def steps(self) -> list[int]:
        """The steps of the lines."""
        return [line.point.step for line in self.lines if line.point]

    @property
    def held_bytes(self) -> int:
        """The bytes from the first line with metrics on."""
        return next((self.end - line.start for line in self.lines if line.point), 0)


class MeanSource(OutputSource):
    """The mean of each metric and step over the ranks."""

    def __init__(self, spec: Mapping[str, Any], folders: Folders, cursors: Mapping[str, Any]) -> None:
        super().__init__(spec, folders, cursors)
        self._cursors["files"].pop(LOG, None)  # of an agent that knew no mean
        self._cursors["attempt"] = cursors.get("attempt", 0)  # of the step up to which all means are stored
        self._ranks = 0

    def begin(self, attempt: int, ranks: int) -> None:
        """Read the lines of this attempt, of so many ranks, from now on."""
        super().begin(attempt, ranks)
        self._ranks = ranks

    def read(self, max_bytes: int, rest: Rest = Rest.WAITS) -> Reading:
        """Return the means of the steps that are complete."""
        files, known = self._files(), self._cursors["files"]
        paths = self._paths(files)
        ends = self._ends(files)
        places = {name: place for name, place in known.items() if self._attempt is not None or name in paths}
        unread = [file for file in files if file.name in paths and _is_unread(paths[file.name], places, file)]
        attempt = min((file.attempt for file in unread), default=self._cursors["attempt"])
        mine = [file.name for file in unread if file.attempt == attempt]
        done = self._done(attempt)
        counts: defaultdict[int, int] = defaultdict(lambda: done)  # the last step of each rank
        window = max(max_bytes // max(len(mine), 1), MIN_BYTES)
        streams = {}
        for name in mine:
            place = places.get(name, 0)
            part = read_lines(paths[name], place, window, may_restart=False, keep_ends=True)
            is_over = self._attempt is None or name in ends
            streams[name] = self._stream(name, place, part, counts, rest if is_over else Rest.WAITS, is_over=is_over)
        limit = self._limit(streams, ends, is_end=self._attempt is None or rest is not Rest.WAITS)
        left_out = LeftOut()
        found: dict[int, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
        for name, stream in streams.items():
            places[name] = stream.end
            for line in stream.lines:
                if line.point and line.point.step >= limit:
                    places[name] = line.start
                    break
                left_out.include(line.left_out)
                if line.point and line.point.step <= done:
                    left_out.add(f"rank {stream.rank}: step {line.point.step}", LATE, len(line.point.values))
                elif line.point:
                    for metric, value in line.point.values.items():
                        found[line.point.step][metric][stream.rank] = value
        points = [Point(step, _means(found[step]), time.time()) for step in sorted(found)]
        cursors = {"step": max([done, *found]), "attempt": attempt, "files": places}
        is_more = any(stream.is_behind for stream in streams.values()) or len(mine) < len(unread)
        return Reading(points, cursors, is_more and places != known, left_out)

    def reason_for_nothing(self) -> str:
        """Return why there is no metric."""
        return "the pattern was found in no line of the output"

    def has_output_of(self, ranks: int) -> bool:
        """Return whether the output of so many ranks has ended, and the next read brings what is left."""
        try:
            ends, places = self._ends(self._files()), self._cursors["files"]
        except OSError:  # a file server that does not answer for a moment
            return False
        has_all = len({rank_of(name) for name in ends}) >= ranks
        return has_all and all(places.get(name, 0) + MIN_BYTES > end for name, end in ends.items())

    def _done(self, attempt: int) -> int:
        """Return the step up to which all means of the attempt are stored; without a group `step` attempts count on."""
        is_known = STEP not in self._pattern.groupindex or attempt == self._cursors["attempt"]
        return int(self._cursors["step"]) if is_known else -1

    def _stream(
        self, name: str, place: int, part: Lines, counts: defaultdict[int, int], rest: Rest, *, is_over: bool
    ) -> _Stream:
        """Return what is new in a file."""
        rank, lines = rank_of(name), list[_Line]()
        torn = LeftOut()
        texts, end = self._lines(part, rest, torn)
        for text in texts:
            left_out = LeftOut()
            point = self._point(text.rstrip(b"\r\n"), min(counts[rank] + 1, MAX_STEP), left_out)
            if point:
                counts[rank] = point.step
            if point or left_out.count:
                lines.append(_Line(place, point, left_out))
            place += len(text)
        if torn.count:
            lines.append(_Line(place, None, torn))
        return _Stream(rank, lines, end, is_over and not part.more and end >= part.cursor + len(part.rest), part.more)

    def _limit(self, streams: Mapping[str, _Stream], ends: Mapping[str, int], *, is_end: bool) -> float:
        """Return the step from which on the steps are not complete."""
        behind = [stream for stream in streams.values() if stream.is_behind]
        if is_end and not behind:
            return inf
        heavy = [stream for stream in streams.values() if stream.held_bytes > HELD_BYTES]
        if heavy:
            return max(min(max(one.steps) for one in heavy), min(min(one.steps) for one in heavy) + 1)
        if is_end:
            return min((max(one.steps) for one in behind if one.steps), default=inf)
        return min(self._reached(streams, ends), default=inf)

    def _reached(self, streams: Mapping[str, _Stream], ends: Mapping[str, int]) -> Iterator[float]:
        """Yield the step that each rank has reached; infinity for a rank that has ended, -1 for one without a step."""
        for rank in {*range(self._ranks), *(stream.rank for stream in streams.values())}:
            names = [OutputFile(self._attempt or 0, rank, kind).name for kind in STREAMS]
            own = [streams[name] for name in names if name in streams]
            if all(name in ends and (name not in streams or streams[name].is_over) for name in names):
                yield inf
            else:
                yield min((max(stream.steps) for stream in own if stream.steps), default=-1)


def _is_unread(path: str, places: Mapping[str, int], file: OutputFile) -> bool:
    """Return whether a file has bytes that were not read."""
    try:
        return os.path.getsize(path) > places.get(file.name, 0)
    except OSError:
        return False


def _means(values: Mapping[str, Mapping[int, float]]) -> dict[str, float]:
    return {metric: sum(by_rank.values()) / len(by_rank) for metric, by_rank in values.items()}
