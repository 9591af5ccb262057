"""MetricReader: read a program's metrics from the files that it writes, in a thread of rank 0's agent."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

from agent.folder.events import EventWriter
from agent.folder.run_folder import RunFolder
from agent.sources import Sources

EVERY_S = 0.5
LATE_EVERY_S = 0.05
SETTLE_S = 0.3  # for the last lines of ranks that failed
OUTPUT_S = 10.0  # for the last lines of ranks that ended well, which srun brings to the log


def open_sources(folder: RunFolder, attempt: int, spec: Mapping[str, Any], events: EventWriter) -> Sources | None:
    """Return the sources of the spec; None without any. Call this before the ranks start."""
    specs = spec.get("metrics") or []
    return Sources(str(folder.path), specs, events.append_all, attempt=attempt) if specs else None


class MetricReader:
    """Reads the sources until `finish`: a file server that does not answer must not delay a signal to the ranks."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._should_end = threading.Event()
        self._thread = threading.Thread(target=self._read, name="metrics", daemon=True)
        self._thread.start()

    def finish(self, limit_s: float, *, agents: int, is_late: bool, is_well: bool) -> None:
        """Read what is left, for `limit_s` at most, after the ranks of all agents have ended.

        The output of `agents` agents is read to its end. `is_late`: the log may get lines for a moment still, whose
        end nobody announces. `is_well`: all ranks ended by themselves, so their last lines are whole.
        """
        until = time.monotonic() + limit_s
        self._should_end.set()
        self._thread.join(limit_s)
        if self._thread.is_alive():
            return
        if is_late:
            time.sleep(SETTLE_S)
        self._sources.finish(max(until - time.monotonic(), 0.0))
        until = min(until, time.monotonic() + OUTPUT_S)
        while not self._sources.has_output_of(agents) and time.monotonic() < until:
            time.sleep(LATE_EVERY_S)
            self._sources.poll()
        self._sources.end(is_well=is_well)

    def _read(self) -> None:
        while not self._should_end.is_set():
            if not self._sources.poll():
                self._should_end.wait(EVERY_S)
