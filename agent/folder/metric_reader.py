"""MetricReader: read a program's metrics from the files that it writes, in a thread of rank 0's agent."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from agent.folder.events import EventWriter
from agent.folder.run_folder import RunFolder
from agent.program.work_folder import working_folder_of
from agent.sources import Sources
from agent.sources.places import Folders
from agent.sources.trackers import TrackerWatch

EVERY_S = 0.5
LATE_EVERY_S = 0.05
BY_DEFAULT = [{"kind": "tensorboard"}]  # for a spec that names no sources; one with an empty list has none
SETTLE_S = 0.3  # for the last lines of other agents' ranks, if one has failed


def open_sources(
    folder: RunFolder, attempt: int, spec: Mapping[str, Any], events: EventWriter, *, ranks: int, is_new: bool
) -> Sources | None:
    """Return the sources of the spec; None without any. Call this before the ranks start.

    `is_new`: the working folder was made just now.
    """
    specs = spec.get("metrics")
    if specs is not None and not specs:
        return None
    return Sources(
        str(folder.path),
        BY_DEFAULT if specs is None else specs,
        events.append_all,
        attempt=attempt,
        ranks=ranks,
        working_folder=working_folder_of(spec, folder.path),
        is_default=specs is None,
        is_new=is_new,
    )


def watch_trackers(folder: RunFolder, attempt: int, spec: Mapping[str, Any], events: EventWriter) -> TrackerWatch:
    """Return what notices other trackers. Call this before the ranks start."""
    folders = Folders(str(folder.path), working_folder_of(spec, folder.path))
    return TrackerWatch(folders, events.append_all, attempt)


class MetricReader:
    """Reads the sources until `finish`: a file server that does not answer must not delay a signal to the ranks."""

    def __init__(self, sources: Sources, trackers: TrackerWatch) -> None:
        self._sources, self._trackers = sources, trackers
        self._should_end = threading.Event()
        self._thread = threading.Thread(target=self._read, name="metrics", daemon=True)
        self._thread.start()

    def finish(self, limit_s: float, *, ranks: int, is_well: bool) -> None:
        """Read what is left, for `limit_s` at most, after all ranks have ended, of which there are so many.

        `is_well`: they ended by themselves, so their last lines are whole, and the end of each one's output is awaited.
        """
        until = time.monotonic() + limit_s
        self._should_end.set()
        self._thread.join(limit_s)
        if self._thread.is_alive():
            return
        self._sources.finish(max(until - time.monotonic(), 0.0))
        if not is_well:
            until = min(until, time.monotonic() + SETTLE_S)
        while not self._sources.has_output_of(ranks) and time.monotonic() < until:
            if not self._sources.poll():
                time.sleep(LATE_EVERY_S)
        self._sources.end(is_well=is_well)
        self._trackers.end()

    def _read(self) -> None:
        while not self._should_end.is_set():
            if not self._sources.poll():
                self._trackers.poll()
                self._should_end.wait(EVERY_S)
