"""Events: the agent of rank 0 appends whole lines to the events file (contract/folder/events.py)."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from agent.folder.run_folder import RunFolder
from agent.sources.history import lines_backwards
from runfiles.regular_file import open_regular

SEARCHED_BYTES = 1 << 28  # of the file's end: the program may have written anything after its last points
ENDS = ("finished", "failed", "paused", "stopped")
RETRY_S, RETRY_EVERY_S = 60.0, 1.0  # for a report that a full disk rejects


class EventWriter:
    """Appends the events of one attempt; `bigbatch.log` of rank 0 appends to the same file on the same host."""

    def __init__(self, folder: RunFolder, attempt: int) -> None:
        self._folder, self._attempt = folder, attempt
        self._started: float | None = None  # by a clock that nobody sets

    def append(self, kind: str, **fields: Any) -> None:
        """Append one event with one write; a failed write is repeated for a minute."""
        event = {"attempt": self._attempt, "at": time.time(), "kind": kind, **fields}
        if kind == "started":
            self._started = time.monotonic()
        elif kind in ENDS and self._started is not None:
            event["ran_s"] = round(time.monotonic() - self._started, 3)
        until = time.monotonic() + RETRY_S
        while not self.append_all([event]) and time.monotonic() < until:
            time.sleep(RETRY_EVERY_S)

    def append_all(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Append complete events with one write; return whether they are written."""
        lines = "".join(json.dumps(event) + "\n" for event in events).encode()
        try:
            _append(self._folder, lines)
        except OSError as error:
            print(f"bigbatch: events could not be written: {error}", file=sys.stderr, flush=True)
            return False
        return True

    def last_step(self) -> int:
        """Return the last step that has points, of any attempt; 0 without one at the file's end."""
        try:
            with open_regular(self._folder.events) as file:
                for line in lines_backwards(file, SEARCHED_BYTES):
                    if b'"points"' in line and (step := _step_of(line)) is not None:
                        return step
        except OSError:
            pass
        return 0


def _append(folder: RunFolder, lines: bytes) -> None:
    file = os.open(folder.events, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":  # a line that a crash left incomplete
            lines = b"\n" + lines
        written = os.write(file, lines)
        if written != len(lines):
            raise OSError(f"only {written} of {len(lines)} bytes were written")
    finally:
        os.close(file)


def _step_of(line: bytes) -> int | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    step = event.get("step") if isinstance(event, dict) and event.get("kind") == "points" else None
    return step if isinstance(step, int) and 0 <= step < 2**31 else None
