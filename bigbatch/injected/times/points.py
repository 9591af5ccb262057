"""Points: rank 0 appends the means over the ranks to the run's events, as the curves of the time panel.

The points stand at the program's own steps if the program reports any points (with `bigbatch.log`, or by the agent's
sources). Else the steps count on from the last step that an earlier attempt has reported.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from types import ModuleType

from bigbatch.injected.parts import COMPUTE_S, SLOWEST_RANK, TIME_PARTS
from bigbatch.injected.times.merge import Merged

TAIL_BYTES = 1 << 16  # of what was appended to the events since the last look
LOOK_AGAIN_S = 10.0
PACKAGE, LOGGING = "bigbatch", "bigbatch.running.calls"


class Points:
    """Reports the time split of one attempt as points."""

    def __init__(self, folder: str, attempt: int) -> None:
        self._path, self._attempt = os.path.join(folder, "events.jsonl"), attempt
        self._reports_steps = _Reporting(folder)
        self._offset = 0
        self._own_step: int | None = None  # the newest step that the program reports in this attempt
        self._base: int | None = None  # the last step of earlier attempts

    def report(self, merged: Sequence[Merged]) -> None:
        """Append the means of the ranges as the points of one step; raise OSError."""
        self._read_steps()
        if not merged or (self._own_step is None and self._reports_steps()):
            return
        step = (self._base or 0) + merged[-1].last if self._own_step is None else self._own_step
        event = {
            "attempt": self._attempt,
            "at": time.time(),
            "kind": "points",
            "step": step,
            "values": means(merged),
        }
        self._append(json.dumps(event, separators=(",", ":")).encode() + b"\n")

    def _append(self, line: bytes) -> None:
        file = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            size = os.fstat(file).st_size
            is_torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            os.write(file, b"\n" + line if is_torn else line)
        finally:
            os.close(file)

    def _read_steps(self) -> None:
        """Read the steps of points that were appended; the first time, those of earlier attempts."""
        with suppress(OSError), open(self._path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(self._offset, size - TAIL_BYTES))
            text = file.read(TAIL_BYTES).rpartition(b"\n")[0]
            self._offset = size
            for line in text.split(b"\n"):
                if b'"points"' in line:
                    self._read_step(line)
        if self._base is None:
            self._base = 0

    def _read_step(self, line: bytes) -> None:
        with suppress(ValueError, KeyError, TypeError):
            event = json.loads(line)
            attempt, step = event["attempt"], event["step"]
            if attempt < self._attempt:
                self._base = max(self._base or 0, step)
            elif attempt == self._attempt and COMPUTE_S not in event["values"]:
                self._own_step = step


def means(merged: Sequence[Merged]) -> dict[str, float]:
    """Return each part's mean over ranks and steps, and the rank that was the slowest in most steps."""
    steps = sum(ranges.last - ranges.first + 1 for ranges in merged)
    values = {}
    for index, part in enumerate(TIME_PARTS):
        totals = [
            sum(parts[index] for parts in ranges.ranks.values()) / len(ranges.ranks) * (ranges.last - ranges.first + 1)
            for ranges in merged
        ]
        values[part] = sum(totals) / steps
    slowest: Counter[int] = Counter()
    for ranges in merged:
        slowest[ranges.slowest] += ranges.last - ranges.first + 1
    return {**values, SLOWEST_RANK: slowest.most_common(1)[0][0]}


class _Reporting:
    """Whether the program reports its own steps: by `bigbatch.log`, or by metrics that the agent reads.

    To look through thousands of modules takes about a millisecond in which the program's thread may wait, so it is done
    again only when a module was loaded, when the program has more names, and every LOOK_AGAIN_S.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._has_metrics: bool | None = None  # of the spec; None: not read yet
        self._seen: tuple[int, ...] = ()

    def __call__(self) -> bool:
        main = sys.modules.get("__main__")
        names = len(vars(main)) if main is not None else 0
        seen = (len(sys.modules), names, int(time.monotonic() / LOOK_AGAIN_S))
        if seen != self._seen:
            if _is_imported():
                return True
            self._seen = seen
        if self._has_metrics is None:
            with suppress(OSError, ValueError), open(os.path.join(self._folder, "spec.json"), encoding="utf-8") as file:
                spec = json.load(file)
                self._has_metrics = bool(isinstance(spec, dict) and spec.get("metrics"))
        return bool(self._has_metrics)


def _is_imported() -> bool:
    """Return whether the program has imported `bigbatch`, which the hook has loaded in any case."""
    if LOGGING in sys.modules:
        return True
    package, main = sys.modules.get(PACKAGE), sys.modules.get("__main__")
    modules = [vars(module) for module in [*sys.modules.values()] if isinstance(module, ModuleType)]
    by_alias = main is not None and any(value is package for value in [*vars(main).values()])
    return by_alias or any(names.get(PACKAGE) is package for names in modules)
