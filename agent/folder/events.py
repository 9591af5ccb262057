"""Events: the agent of rank 0 appends whole lines to the events file (contract/folder/events.py)."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from agent.folder.run_folder import RunFolder
from runfiles.event_lines import append_to
from runfiles.history import last_step
from runfiles.retries import try_for

ENDS = ("finished", "failed", "paused", "stopped")


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
        try_for(lambda: append_to(self._folder.events, _lines([event])), "events")

    def append_all(self, events: Sequence[Mapping[str, Any]]) -> bool:
        """Append complete events with one write; return whether they are written."""
        try:
            append_to(self._folder.events, _lines(events))
        except OSError as error:
            print(f"bigbatch: events could not be written: {error}", file=sys.stderr, flush=True)
            return False
        return True

    def last_step(self) -> int:
        """Return the last step that has points, of any attempt; 0 without one at the file's end."""
        return last_step(self._folder.events)


def _lines(events: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(event) + "\n" for event in events).encode()
