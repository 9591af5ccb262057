"""MetricReader: read a program's sources in a thread of the agent of rank 0, and append their events."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agent.sources.sources import Sources

EVERY_S = 1.0
FINISH_S = 10.0  # longest time for what is left when the ranks have ended


class MetricReader:
    """The sources of one attempt, which are read each second; none without `specs`."""

    def __init__(self, run_folder: Path, specs: Sequence[Mapping[str, Any]], *, attempt: int) -> None:
        """Read what is left of earlier attempts; create the reader before the attempt's ranks start."""
        self._events = run_folder / "events.jsonl"
        self._stop = threading.Event()
        self._sources = Sources(str(run_folder), specs, self._append, attempt=attempt) if specs else None
        self._thread = threading.Thread(target=self._read, name="metrics", daemon=True)
        if specs:
            self._thread.start()

    def finish(self) -> None:
        """Read what is left, after the ranks have ended; the attempt's last event comes after that."""
        self._stop.set()
        if self._sources:
            self._thread.join(FINISH_S)
            if not self._thread.is_alive():  # a source on a file server that hangs must not hold up the report
                self._sources.finish(FINISH_S)

    def _read(self) -> None:
        while not self._stop.wait(EVERY_S):
            if self._sources:
                self._sources.poll()

    def _append(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Append events with one write; return whether all are in the file."""
        lines = b"".join(json.dumps(event).encode() + b"\n" for event in events)
        try:
            file = os.open(self._events, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            return False
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":  # a line that a crash left incomplete
                lines = b"\n" + lines
            return os.write(file, lines) == len(lines)
        except OSError:
            return False
        finally:
            os.close(file)
