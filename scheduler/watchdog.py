"""The watchdog of a worker: it ends the process if a tick hangs, so that the worker's supervisor starts a new one.

A tick may wait for ever in a system call, or run for ever in code that never gives up the interpreter's lock. A thread
looks for the former every second. The latter stops that thread too, so the thread sets a timer of the interpreter
itself (faulthandler) again and again, which ends the process when the thread no longer does so. Both write the stacks
of all threads to stderr. Celery's own time limits work in its prefork pool alone.
"""

import faulthandler
import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from scheduler.context import Memory

PERIODS = 10  # a tick that takes so many periods hangs,
AT_LEAST_S = 180.0  # but it may call eight of Slurm's commands, each to its time-out of 20 s
CHECK_S = 1.0
EXIT_CODE = 70  # EX_SOFTWARE
STDERR = 2  # its descriptor: faulthandler writes without the interpreter
log = logging.getLogger(__name__)


@contextmanager
def watched(memory: Memory, tick: str) -> Iterator[None]:
    """Let the watchdog watch the block as an execution of `tick`."""
    memory.moved_on_at[tick] = time.monotonic()
    try:
        yield
    finally:
        memory.moved_on_at.pop(tick, None)


class Watchdog:
    """Watches the ticks that `memory` names; `limits_s`: for each tick, the longest time without progress."""

    def __init__(self, memory: Memory, limits_s: Mapping[str, float]) -> None:
        self._memory, self._limits_s = memory, limits_s

    @classmethod
    def of(cls, memory: Memory, periods_s: Mapping[str, float]) -> "Watchdog":
        """Return the watchdog of ticks with these periods."""
        return cls(memory, {name: max(AT_LEAST_S, PERIODS * period_s) for name, period_s in periods_s.items()})

    def start(self) -> None:
        """Watch from now on, in a thread that lasts as long as the process."""
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def find_hung(self) -> tuple[str, float] | None:
        """Return a tick that has made no progress for longer than its limit, and for how many seconds; else None."""
        present = time.monotonic()
        for tick, moved_on_at in list(self._memory.moved_on_at.items()):  # a copy: ticks begin and end meanwhile
            if (still_s := present - moved_on_at) > self._limits_s[tick]:
                return tick, still_s
        return None

    def _watch(self) -> None:
        longest_s = max(self._limits_s.values())
        while not (hung := self.find_hung()):
            faulthandler.dump_traceback_later(longest_s, exit=True, file=STDERR)
            time.sleep(CHECK_S)
        log.critical("the tick %s has made no progress for %.0f s, so this worker ends; stacks follow", *hung)
        faulthandler.dump_traceback(file=STDERR, all_threads=True)
        os._exit(EXIT_CODE)  # an orderly end would wait for the tick
