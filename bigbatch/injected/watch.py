"""Watch: the thread of the hook, which writes the time split and the notes of the stall watch about once a second."""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from bigbatch.injected.process import RankProcess

PERIOD_S = 1.0
RANKS_PER_S = 100  # a larger run writes less often, because all its ranks write to one file system


class Writer(Protocol):
    """A part of the hook that writes to the run folder."""

    def write(self, *, is_last: bool = False) -> None:
        """Write what is new."""


class Watch:
    """Calls the writers until the process ends; an error ends only the writer that raised it."""

    def __init__(self, process: RankProcess, writers: Sequence[Writer]) -> None:
        self._process, self._writers = process, list(writers)
        self._ended, self._lock = threading.Event(), threading.Lock()
        self._period_s = PERIOD_S * max(1.0, process.world / RANKS_PER_S)

    def start(self) -> None:
        """Start the thread; the last call of the writers is at the end of the interpreter."""
        threading.Thread(target=self._run, name="bigbatch", daemon=True).start()
        atexit.register(self._end)
        if (util := sys.modules.get("multiprocessing.util")) is not None:  # its processes end without atexit
            util.Finalize(None, self._end, exitpriority=0)
        os.register_at_fork(after_in_child=self._ended.set)

    def _run(self) -> None:
        while not self._ended.wait(self._period_s):
            self._write(is_last=False)

    def _end(self) -> None:
        if self._process.is_own() and not self._ended.is_set():
            self._ended.set()
            self._write(is_last=True)

    def _write(self, *, is_last: bool) -> None:
        with self._lock:
            for writer in [*self._writers]:
                try:
                    writer.write(is_last=is_last)
                except Exception:
                    with suppress(ValueError):
                        self._writers.remove(writer)
