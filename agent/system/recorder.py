"""The recorder of a node: a thread that appends system metrics to points/system-HOST.jsonl at a slow rate.

The scheduler stores them as the series system/HOST/NAME. Their step is the number of whole seconds since the first
attempt began, so the attempts of a run follow each other on one axis. Module agent.system imports nothing of the
project: the engine's jobs use it too.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from agent.system.gpus import Gpus
from agent.system.proc import Counters, rates, read_counters, used_memory

DEFAULT_S = 15.0
MAX_NODES = 32  # of a run: 32 nodes with eight GPUs have 960 series
MAX_BYTES = 16 << 20  # of one file: a month at the default rate
LAST_STEP = 2**31 - 1
FOLDER = "points"


class Recorder:
    """Appends the metrics of this node until `stop`."""

    def __init__(self, folder: Path, attempt: int, host: str, every_s: float) -> None:
        self._folder, self._attempt, self._every_s = folder, attempt, every_s
        self._file = folder / FOLDER / f"system-{re.sub('[^A-Za-z0-9._-]', '-', host)}.jsonl"
        self._end = threading.Event()
        self._gpus: Gpus | None = None
        self._before: Counters | None = None
        self._thread = threading.Thread(target=self._run, name="system metrics", daemon=True)

    def start(self) -> Recorder:
        """Start the thread."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Let the thread end; it takes at most one measurement more."""
        self._end.set()

    def measure(self) -> dict[str, float]:
        """Return the metrics since the last measurement; rates need two of them."""
        if self._gpus is None:
            self._gpus = Gpus()
        values = {**used_memory(), **self._gpus.read()}
        after = read_counters()
        if self._before is not None:
            values.update(rates(self._before, after))
        self._before = after
        return values

    def _run(self) -> None:
        try:
            self.measure()
            began = _began(self._folder)
            while not self._end.wait(self._every_s):
                if not self._append(began, self.measure()):
                    return
        except Exception as error:  # the run goes on without its system metrics
            print(f"bigbatch: system metrics end: {error!r}", file=sys.stderr, flush=True)

    def _append(self, began: float, values: dict[str, float]) -> bool:
        """Append one line with one write; return whether there is room for more."""
        step = min(max(0, int(time.time() - began)), LAST_STEP)
        event = {"kind": "points", "attempt": self._attempt, "at": time.time(), "step": step, "values": values}
        with suppress(OSError):  # a full disk or an unreachable file system may recover
            self._file.parent.mkdir(exist_ok=True)
            file = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            try:
                os.write(file, f"{json.dumps(event)}\n".encode())
                return os.fstat(file).st_size < MAX_BYTES
            finally:
                os.close(file)
        return True


def start_recorder(folder: Path, attempt: int, *, host: str, node: int, every_s: float | None) -> Recorder | None:
    """Start the recorder of a node; None if the run wants none or has many nodes before this one."""
    every_s = DEFAULT_S if every_s is None else every_s
    if not every_s or node >= MAX_NODES or not os.path.exists("/proc/stat"):
        return None
    return Recorder(folder, attempt, host, every_s).start()


def _began(folder: Path) -> float:
    """Return the moment at which the first attempt was claimed."""
    try:
        return os.stat(folder / "attempts" / "1.json").st_mtime
    except OSError:
        return time.time()
