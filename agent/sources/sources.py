"""Sources: all sources of one program, read by the agent of rank 0 in each of its rounds.

Points become events first, then the cursors are stored. A crash between the two writes some events a second time; equal
events are stored once. Each source is read in parts, so that no round takes long.
The count of what is left out is stored with the cursors. One line of the log has it once the ranks have ended: before,
that line could split a line of theirs.
"""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from agent.sources.cursors import read_cursors, write_cursors
from agent.sources.json_lines import JsonLinesSource
from agent.sources.left_out import OPENING, LeftOut, left_out_of
from agent.sources.output import OutputSource
from agent.sources.output_mean import MEAN, MeanSource
from agent.sources.places import Folders
from agent.sources.point import Point, event_of, joined
from agent.sources.source import Reading, Rest, Source
from agent.sources.tensorboard import TensorBoardSource
from runfiles.history import ResumptionFinder

EVENTS, ATTEMPTS = "events.jsonl", "attempts"
MAX_BYTES = 1 << 20  # of one source in one round
DRAIN_S = 60.0  # longest time for what is left at the start and at the end of an attempt
LEFT_OUT = ":left_out"  # behind a source's key, in the file of cursors
RETRY_S = 0.5  # between two tries while the disk is full
KINDS: dict[str, Callable[..., Source]] = {
    "tensorboard": TensorBoardSource,
    "json_lines": JsonLinesSource,
    "output": OutputSource,
}
Emit = Callable[[Sequence[Mapping[str, Any]]], bool]  # append events; return whether they are written


class Sources:
    """The sources that `specs` describe, as the field `metrics` of a program has them."""

    def __init__(
        self,
        run_folder: str,
        specs: Sequence[Mapping[str, Any]],
        emit: Emit,
        *,
        attempt: int,
        ranks: int = 1,
        working_folder: str | None = None,
        is_default: bool = False,
        is_new: bool = False,
    ) -> None:
        """Read what is left of earlier attempts; call this before the attempt's ranks start.

        `is_new`: the working folder was made just now, so what it has came with the code. `is_default`: nobody has
        asked for the sources, so one without a metric says nothing.
        """
        self._run_folder, self._emit, self._attempt = run_folder, emit, attempt
        folders = Folders(run_folder, working_folder)
        stored = read_cursors(run_folder)
        self._sources = {
            key: source
            for key, spec in _keyed(specs)
            if (source := _open(spec, folders, stored.get(key), is_first=attempt == 1 or is_new))
        }
        self._labels = {key: _label(spec) for key, spec in _keyed(specs)}
        self._cursors = {key: stored[key] for key in self._sources if key in stored}
        self._left_out = {key: left_out_of(stored.get(f"{key}{LEFT_OUT}")) for key in self._sources}
        # sources that must say why they have no metric
        self._silent = {key for key in self._sources if key not in stored and not is_default}
        self._is_behind = False  # something that was read could not be written
        self._resumption = ResumptionFinder(os.path.join(run_folder, EVENTS), attempt)
        self._writer = attempt - 1  # the attempt that wrote what is read now
        if attempt > 1:
            self._drain()
            self._read_all(Rest.TORN)
            self._delete_finished()
        self._writer = attempt
        for source in self._sources.values():
            source.begin(attempt, ranks)
        if attempt == 1 or is_new:
            self.poll()  # which stores what is left out, before the program writes anything
            for source in self._sources.values():
                source.search_now()

    def poll(self) -> bool:
        """Read each source's new points and emit them; return whether a source has more."""
        return self._read_all(Rest.WAITS)

    def finish(self, limit_s: float = DRAIN_S) -> None:
        """Read what is left, for `limit_s` at most; call this after the attempt's ranks have ended."""
        for source in self._sources.values():
            source.search_now()
        self._drain(limit_s)

    def has_output_of(self, ranks: int) -> bool:
        """Return whether the output of so many ranks has been read to its end, as far as a source reads it."""
        return all(source.has_output_of(ranks) for source in self._sources.values())

    def end(self, *, is_well: bool) -> None:
        """Read last lines without a newline, and say what was left out; `is_well`: all ranks ended by themselves."""
        self._read_all(Rest.WHOLE if is_well else Rest.TORN)
        for key, source in self._sources.items():
            if self._left_out[key].count:
                print(self._left_out[key].message(self._labels[key]), file=sys.stderr, flush=True)
            elif is_well and key in self._silent:
                reason = source.reason_for_nothing()
                print(f"{OPENING}{self._labels[key]}: none was found: {reason}", file=sys.stderr, flush=True)
            self._left_out[key] = LeftOut()
        with suppress(OSError):  # without it the next attempt says the same again
            self._store(self._cursors)
            self._delete_finished()

    def _delete_finished(self) -> None:
        """Delete the files of lines that all sources have read to their end, by the cursors that are stored."""
        with suppress(OSError):  # the next attempt deletes what stays
            found = [source.finished(self._cursors.get(key, {})) for key, source in self._sources.items()]
            finished = [files for files in found if files is not None]
            for name in set.intersection(*finished) if finished else ():
                os.unlink(os.path.join(self._run_folder, ATTEMPTS, name))

    def _read_all(self, rest: Rest) -> bool:
        more = self._is_behind = False
        for key, source in self._sources.items():
            try:
                reading = source.read(MAX_BYTES, rest)
                if self._pass_on(key, source, reading):
                    more = more or reading.more
            except Exception as error:  # a fault of one source stops neither the others nor the agent
                print(f"bigbatch: the metrics of {key} cannot be read: {error}", file=sys.stderr, flush=True)
        return more

    def _drain(self, limit_s: float = DRAIN_S) -> None:
        until = time.monotonic() + limit_s
        while (self.poll() or self._is_behind) and time.monotonic() < until:
            if self._is_behind:
                time.sleep(RETRY_S)

    def _pass_on(self, key: str, source: Source, reading: Reading) -> bool:
        """Emit points, then store the cursors; return False if they are not written: the next round tries again."""
        points = joined(reading.points)
        resumed = self._resumed(points)
        if points and not self._emit([*resumed, *(event_of(point, self._writer) for point in points)]):
            self._is_behind = True
            return False
        self._resumption.is_over = self._resumption.is_over or bool(resumed)
        source.accept(reading.cursors)
        self._left_out[key].include(reading.left_out)
        if points:
            self._silent.discard(key)
        if self._cursors.get(key) != reading.cursors:
            cursors = {**self._cursors, key: reading.cursors}
            try:
                self._store(cursors)
            except OSError:
                self._is_behind = True
                raise
            self._cursors = cursors
        return True

    def _store(self, cursors: Mapping[str, dict[str, Any]]) -> None:
        """Store cursors, and what has been left out and not said yet; raise OSError."""
        left_out = {f"{key}{LEFT_OUT}": one.as_dict() for key, one in self._left_out.items() if one.count}
        write_cursors(self._run_folder, {**cursors, **left_out})

    def _resumed(self, points: Sequence[Point]) -> list[dict[str, Any]]:
        """Return the event of where the attempt resumed, if one of its points tells; none if it was reported."""
        if self._writer != self._attempt:
            return []
        for point in sorted(points, key=lambda point: point.at):  # TensorBoard's files are read one after the other
            found = self._resumption.find(point.step, point.values)
            if found:
                event = {"kind": "resumed", "attempt": self._attempt, "at": time.time()}
                return [{**event, **found._asdict(), "notes": []}]
        return []


def _keyed(specs: Sequence[Mapping[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    return [(f"{number}:{spec.get('kind')}", spec) for number, spec in enumerate(specs)]


def _label(spec: Mapping[str, Any]) -> str:
    """Return how a message names a source: by its kind and its file or folder."""
    return " ".join(str(part) for part in (spec.get("kind"), spec.get("file") or spec.get("folder")) if part)


def _open(
    spec: Mapping[str, Any], folders: Folders, cursors: Mapping[str, Any] | None, *, is_first: bool
) -> Source | None:
    """Return the source of a spec; None, with a message, for a spec that describes none."""
    try:
        is_mean = spec["kind"] == "output" and spec.get("rank") == MEAN
        kind = MeanSource if is_mean else KINDS[str(spec["kind"])]
        source = kind(spec, folders, cursors or {})
        if cursors is None and (is_first or source.is_shared):
            source.skip()
    except (KeyError, TypeError, ValueError, OSError, re.error) as error:
        print(f"bigbatch: {dict(spec)} is no source of metrics: {error!r}", file=sys.stderr, flush=True)
        return None
    return source
