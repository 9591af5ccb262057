"""Trackers: a program that logs to another tracker, of which no metric is read, has one line that says what to set.

Only fixed places in the run's folder and in the working folder below it are looked at, so a look takes a moment. What
was there when the attempt started came with the code, or was noticed in an earlier attempt.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from agent.sources.left_out import OPENING
from agent.sources.places import Folders
from runfiles.history import OWN_METRICS, read_backwards

EVENTS, POINTS = "events.jsonl", "points"
MAX_ENTRIES = 1_000  # of one folder
SEARCHED_BYTES = 1 << 20  # of the events' end, for a metric
FIRST_S, GROWTH, LONGEST_S = 10.0, 4.0, 600.0  # until the first look; between two looks, ever longer
PRINT = "print the values and name them with --metric (a source of kind output)"


class Tracker(NamedTuple):
    """A tracker by its name, patterns of the paths that it makes, and what to do for Bigbatch to have its metrics."""

    name: str
    places: Sequence[tuple[str, ...]]
    advice: str


TRACKERS = (
    Tracker(
        "wandb",
        [("wandb", "offline-run-*"), ("wandb", "run-*")],
        f"write `from bigbatch import wandb` in place of `import wandb`, or {PRINT}",
    ),
    Tracker(
        "MLflow",
        [("mlflow.db",), ("mlruns", "*", "*")],
        f"call `bigbatch.log` beside `mlflow.log_metrics`, or {PRINT}",
    ),
    Tracker(
        "trackio",
        [("trackio", "*.db"), (".trackio", "*.db")],
        f"write `from bigbatch import wandb as trackio` in place of `import trackio`, or {PRINT}",
    ),
    Tracker(
        "Lightning's CSVLogger",
        [("lightning_logs", "*", "metrics.csv")],
        "use Lightning's TensorBoardLogger, whose files are read",
    ),
)


class TrackerWatch:
    """Looks for other trackers' files while the program runs, seldom, and at its end."""

    def __init__(self, folders: Folders, emit: Callable[[Sequence[Mapping[str, Any]]], bool], attempt: int) -> None:
        below = folders.program_starts_in
        self._folder, self._emit, self._attempt = folders.run, emit, attempt
        self._roots = [folders.run, *([os.path.join(folders.run, below)] if below else [])]
        self._before = {path: _changed_at(path) for _, path in self._found()}
        self._message = ""  # what has been reported
        self._pause_s = FIRST_S
        self._look_at = time.monotonic() + FIRST_S

    def poll(self) -> None:
        """Look if it is time."""
        if not self._message and time.monotonic() >= self._look_at:
            self._pause_s = min(self._pause_s * GROWTH, LONGEST_S)
            self._look_at = time.monotonic() + self._pause_s
            self.look()

    def look(self) -> None:
        """Report the first tracker that is there, if the run has no metric so far."""
        if self._message or self._has_metric():
            return
        for tracker, path in self._found():
            if path not in self._before or self._before[path] != _changed_at(path):
                place = os.path.relpath(path, self._folder)
                message = f"this run logs to {tracker.name} ({place}), and Bigbatch reads no metric of it"
                message = f"{message}: {tracker.advice}"
                event = {"attempt": self._attempt, "at": time.time(), "kind": "noticed", "metrics": message}
                if self._emit([event]):
                    self._message = message
                return

    def end(self) -> None:
        """Look once more, after the ranks have ended, and write what was reported to the log."""
        self.look()
        if self._message and not self._has_metric():
            print(f"{OPENING}the run: {self._message}", file=sys.stderr, flush=True)

    def _has_metric(self) -> bool:
        with suppress(OSError):  # `points` has the node's own metrics too
            if any(name.startswith("rank-") for name in os.listdir(os.path.join(self._folder, POINTS))):
                return True  # a rank above 0 has logged
        events = read_backwards(os.path.join(self._folder, EVENTS), SEARCHED_BYTES)
        return any(event["kind"] == "points" and event["values"].keys() - OWN_METRICS for event in events)

    def _found(self) -> Iterator[tuple[Tracker, str]]:
        for tracker in TRACKERS:
            for root in self._roots:
                for place in tracker.places:
                    for path in _matching(root, place):
                        yield tracker, path


def _changed_at(path: str) -> float:
    """Return when a file was written; 0 for a folder, in which others may come and go."""
    try:
        return os.path.getmtime(path) if os.path.isfile(path) else 0.0
    except OSError:
        return 0.0


def _matching(folder: str, patterns: Sequence[str]) -> Iterator[str]:
    """Yield the paths below the folder whose parts match the patterns."""
    if not patterns:
        yield folder
        return
    pattern, *rest = patterns
    names = [pattern]
    if "*" in pattern:
        try:
            with os.scandir(folder) as entries:
                names = sorted(entry.name for entry, _ in zip(entries, range(MAX_ENTRIES)))
        except OSError:
            return
    for name in names:
        path = os.path.join(folder, name)
        if fnmatchcase(name, pattern) and os.path.lexists(path):
            yield from _matching(path, rest)
