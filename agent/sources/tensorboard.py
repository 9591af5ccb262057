"""Source: TensorBoard's event files, in a folder and the folders below it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from typing import Any

from agent.sources.growing_file import find_files
from agent.sources.left_out import LeftOut
from agent.sources.places import Folders, Place
from agent.sources.point import NAME_RULE, Point, is_name
from agent.sources.records import read_records
from agent.sources.source import Reading, Rest, Source
from agent.sources.summaries import scalars_of

EVENT_FILE = ".tfevents."  # a part of the name of each event file
MAX_FILES = 200
SEARCH_S, LONGEST_S = 5.0, 60.0  # between two searches for new files; the longest time while there are none
# folders that frameworks name by themselves, differently in each attempt: they are no part of a metric's name
OWN_FOLDER = re.compile(
    r"runs|lightning_logs|tb_logs|tensorboard|logs|checkpoints|version_\d+|"
    r"[A-Z][a-z]{2}\d\d_\d\d-\d\d-\d\d_.+|\d{8}-\d{6}|"
    r"outputs|multirun|\d{4}-\d\d-\d\d|\d\d-\d\d-\d\d"  # Hydra's
)


class TensorBoardSource(Source):
    """Scalars of event files; one in a subfolder NAME gives metrics NAME/TAG, as Keras's `train` and `validation`."""

    def __init__(self, spec: Mapping[str, Any], folders: Folders, cursors: Mapping[str, Any]) -> None:
        self._place = Place(folders, spec.get("folder"))
        self.folder, self.is_shared = self._place.path, self._place.is_shared
        # an event file of the program's working folder has the name that it has there
        self._working = folders.program_starts_in if not spec.get("folder") else None
        self._cursors = {path: at for path, at in cursors.items() if isinstance(at, int)}
        self._paths: list[str] = []
        self._beyond: list[str] = []  # files beyond the limit
        self._search_at, self._search_s = 0.0, SEARCH_S

    def skip(self) -> None:
        """Leave out what the files hold now, if it is not of this run."""
        for path in self._find():
            if self._place.has_older(path):
                self._cursors[os.path.relpath(path, self.folder)] = os.path.getsize(path)

    def read(self, max_bytes: int, rest: Rest = Rest.WAITS) -> Reading:
        """Read the new records of all files, equal parts of each."""
        if time.monotonic() >= self._search_at:
            self._paths = self._find()
            self._search_s = SEARCH_S if self._paths else min(1.5 * self._search_s, LONGEST_S)
            self._search_at = time.monotonic() + self._search_s
        points: list[Point] = []
        cursors, more, left_out = dict(self._cursors), False, LeftOut()
        for path in self._paths:
            name = os.path.relpath(path, self.folder)
            part = read_records(path, cursors.get(name, 0), max(max_bytes // len(self._paths), 1 << 17))
            found = [scalars_of(record, left_out) for record in part.records]
            points += [self._named(point, name, left_out) for point in found if point]
            cursors[name], more = part.cursor, more or part.more
            if part.damaged:
                left_out.add(name, "a record does not have its checksum", part.damaged)
            if rest is not Rest.WAITS and not part.more:
                cursors[name] = self._end_of(path, name, part.cursor, left_out)
        if rest is not Rest.WAITS and self._beyond:
            reason = f"of at most {MAX_FILES} event files the scalars are read"
            left_out.add(os.path.relpath(self._beyond[0], self.folder), reason, len(self._beyond))
        return Reading([point for point in points if point.values], cursors, more, left_out)

    def reason_for_nothing(self) -> str:
        """Return why there is no metric."""
        return "no event file has a scalar" if self._paths else f"there is no event file in {self.folder}"

    def accept(self, cursors: Mapping[str, Any]) -> None:
        """Continue from these cursors at the next read."""
        self._cursors = dict(cursors)

    def search_now(self) -> None:
        """Look for new files at the next read."""
        self._search_at = 0.0

    def begin(self, attempt: int, ranks: int) -> None:
        """Do nothing: all attempts write to the folder."""

    def _find(self) -> list[str]:
        self.folder = self._place.path
        found = find_files(self.folder, EVENT_FILE)
        self._beyond = found[MAX_FILES:]
        return found[:MAX_FILES]

    def _end_of(self, path: str, name: str, cursor: int, left_out: LeftOut) -> int:
        """Return where the next attempt continues, behind a record that is damaged or has no end."""
        size = os.path.getsize(path) if os.path.exists(path) else cursor
        if size <= cursor or self.is_shared:  # another run may be writing the rest
            return cursor
        left_out.add(
            name, f"the record at byte {cursor:,} has no end or a damaged length, and the file's rest is unread"
        )
        return size

    def _named(self, point: Point, path: str, left_out: LeftOut) -> Point:
        working = self._working.split(os.sep) if self._working else []
        parts = path.split(os.sep)[:-1]
        while working and parts and parts[0] == working.pop(0):
            parts = parts[1:]
        folders = [part for part in parts if not OWN_FOLDER.fullmatch(part)]
        prefix = "".join(f"{folder}/" for folder in folders)
        named = {prefix + tag: value for tag, value in point.values.items()}
        for name in named:
            if not is_name(name):
                left_out.add(name, NAME_RULE)
        return point._replace(values={name: value for name, value in named.items() if is_name(name)})
