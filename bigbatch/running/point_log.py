"""PointLog: append the points of one rank to its file of events; never raise, and never lose a point silently.

Rank 0 writes events.jsonl, which the agent writes as well; rank R writes points/rank-R.jsonl. The format is that of
contract/folder/events.py.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from typing import Any

from bigbatch.running.environment import RunEnvironment
from bigbatch.running.line_file import LineFile
from bigbatch.running.measurement import (
    MAX_NAME,
    MAX_STEP,
    MAX_VALUES,
    is_name,
    name_text,
    number_text,
    step_number,
)
from bigbatch.running.runfiles import ResumptionFinder, read_last_step
from bigbatch.running.warning import warn_once

MAX_NAMES = 10_000  # that are remembered as JSON


class PointLog:
    """The points of one rank of an attempt."""

    def __init__(self, environment: RunEnvironment) -> None:
        folder, self._attempt, self._rank = str(environment.folder), environment.attempt, environment.rank
        name = os.path.join("points", f"rank-{self._rank}.jsonl") if self._rank else "events.jsonl"
        self.file = LineFile(os.path.join(folder, name), make_folder=self._rank > 0)
        self._lock = threading.RLock()  # a signal handler may log while the same thread logs
        self._is_writing = False
        self._names: dict[Any, str] = {}  # JSON of each name with its colon; empty: a wrong name
        self._max_name = MAX_NAME - (len(f"/rank-{self._rank}") if self._rank else 0)
        self._head = f'{{"attempt":{self._attempt},"at":'
        self._last_step: int | None = None  # None before the first point
        # rank 0 reports where a later attempt resumes, as soon as a point tells
        self._resumption = ResumptionFinder(self.file.path, 1 if self._rank else self._attempt)

    def log(self, values: Mapping[Any, Any], step: Any) -> bool:
        """Append one point; return whether it is in the file."""
        with self._lock:
            if self._is_writing:  # in a signal handler
                line = self._line(values, self._next_step(step))
                if line:
                    self.file.enqueue(line)
                return False
            self._is_writing = True
            try:
                if self._last_step is None:
                    step = self._begin(step)
                number = self._next_step(step)
                line = self._line(values, number)
                if line and number is not None and not self._resumption.is_over:
                    self._report_resumption(values, number)
                return self.file.append(line) if line else False
            finally:
                self._is_writing = False

    def flush(self) -> bool:
        """Write what waits, and close the file; return whether nothing waits any more."""
        with self._lock:
            is_written = self.file.flush(now=True)
            self.file.close()
            return is_written

    @property
    def last_step(self) -> int:
        """The step of the last point, 0 before the first one."""
        return self._last_step or 0

    def _begin(self, step: Any) -> Any:
        """Return the step of the first point: without a given one, a later attempt counts on."""
        if self._attempt == 1 or step is not None:
            return step
        last = read_last_step(self.file.path)
        return 1 if last is None else last + 1

    def _report_resumption(self, values: Mapping[Any, Any], step: int) -> None:
        """Report where the attempt resumed if this point, which is not written yet, tells."""
        found = self._resumption.find(step, [name for name in values if self._names.get(name)])
        if found:
            event = {"attempt": self._attempt, "at": time.time(), "kind": "resumed", **found._asdict(), "notes": []}
            self.file.append(json.dumps(event, separators=(",", ":")).encode() + b"\n")
            self._resumption.is_over = True

    def _next_step(self, step: Any) -> int | None:
        """Return the step of a point, None for a wrong one: the given one, or the one after the last."""
        if step is None:
            last = self._last_step
            number: int | None = 1 if last is None else min(last + 1, MAX_STEP)
        elif type(step) is int and 0 <= step <= MAX_STEP:
            number = step
        else:
            number = step_number(step)
            if number is None:
                warn_once("step", f"{step!r:.200} is no step: a step is a whole number from 0 to {MAX_STEP}")
                return None
        self._last_step = number
        return number

    def _line(self, values: Mapping[Any, Any], step: int | None) -> bytes | None:
        """Return the event of a point; None without a step or a valid value."""
        if step is None:
            return None
        names, parts = self._names, []
        for name, value in values.items():
            key = names.get(name)
            if key is None:
                key = self._add_name(name)
            if key:
                if type(value) is float and value - value == 0.0:
                    parts.append(key + repr(value))
                else:
                    text = number_text(value)
                    if text is None:
                        warn_once(f"value {name!r:.200}", f"the value of {name!r:.200} is no number, and is left out")
                    else:
                        parts.append(key + text)
        if not parts:
            return None
        if len(parts) > MAX_VALUES:
            warn_once("values", f"{len(parts)} metrics in one call: those beyond {MAX_VALUES} are left out")
            parts = parts[:MAX_VALUES]
        return (
            f'{self._head}{time.time():.6f},"kind":"points","step":{step},"values":{{{",".join(parts)}}}}}\n'.encode()
        )

    def _add_name(self, name: Any) -> str:
        if is_name(name, max_characters=self._max_name):
            text = name_text(name) + ":"
        else:
            text = ""
            warn_once(
                f"name {name!r:.200}",
                f"{name!r:.200} is no name of a metric, and is left out: a name has 1 to {self._max_name} characters, "
                "none of them a control character",
            )
        if len(self._names) < MAX_NAMES:
            self._names[name] = text
        return text
