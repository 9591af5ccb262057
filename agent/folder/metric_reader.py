"""MetricReader: read a program's metrics from the files that it writes, in a thread of rank 0's agent."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from agent.folder.events import EventWriter
from agent.folder.run_folder import RunFolder
from agent.sources import Sources

EVERY_S = 0.5


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

    def finish(self) -> None:
        """Read what is left, after the ranks have ended."""
        self._should_end.set()
        self._thread.join()
        self._sources.finish()

    def _read(self) -> None:
        while not self._should_end.is_set():
            if not self._sources.poll():
                self._should_end.wait(EVERY_S)
