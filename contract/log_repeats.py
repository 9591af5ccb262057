"""What repeats in a log is said once: a database that is away fails every tick, and had a traceback for each."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from contract.log_causes import Cause, cause_of

FIRST_S, LONGEST_S = 10.0, 600.0  # between two lines of one cause; each interval is twice the one before
QUIET_S, GAPS = 10.0, 3  # a cause is over after so long, and after so many of its longest gaps, without it
SEVERAL = 3  # lines of a cause whose end is told
FORGET_S = 3600.0  # a cause that comes again later is told as a new one
MOST = 500  # causes that are known at once
MOST_OF_KIND = 50  # of them that differ by their run alone: a fault of all runs pushes no other cause out


@dataclass
class _Episode:
    """A cause from its first line until it is over."""

    cause: Cause
    first_at: float
    last_at: float
    said_at: float
    count: int = 1
    unsaid: int = 0
    wait_s: float = FIRST_S
    gap_s: float = 0.0
    is_over: bool = False


class Repeats:
    """Decides what is said of each line; `look` must be called from time to time, also while nothing is logged."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._episodes: dict[tuple[str, ...], _Episode] = {}
        self._of_kind = Counter[tuple[str, ...]]()  # episodes

    def take(self, record: logging.LogRecord) -> str | None:
        """Return what to say in the place of a repetition, "" for nothing; None: the record itself is said."""
        cause, present = cause_of(record), self._clock()
        with self._lock:
            if cause.key not in self._episodes and self._of_kind[cause.kind] >= MOST_OF_KIND:
                cause = cause._replace(key=("others", *cause.kind), words=f"{cause.words}, and others of its kind")
            known = self._episodes.get(cause.key)
            if known is None or present - known.last_at >= FORGET_S:
                is_told = known is None and cause.is_error and self._of_kind[cause.kind] > 0
                self._begin(cause, present)
                return cause.words if is_told else None  # the traceback is that of another run
            if known.is_over:
                self._begin(cause, present)
                return f"again: {cause.words}"
            self._episodes[cause.key] = self._episodes.pop(cause.key)  # the last one in order
            known.count, known.unsaid = known.count + 1, known.unsaid + 1
            known.gap_s, known.last_at = max(known.gap_s, present - known.last_at), present
            return self._repetition(known, present) if present - known.said_at >= known.wait_s else ""

    def look(self) -> list[str]:
        """Return a line for each cause that came several times and is over."""
        present, lines = self._clock(), []
        with self._lock:
            for one in list(self._episodes.values()):
                still_s = present - one.last_at
                if not one.is_over and one.count >= SEVERAL and still_s >= max(QUIET_S, GAPS * one.gap_s):
                    one.is_over = True
                    lines.append(_end(one))
                elif still_s >= FORGET_S:
                    self._forget(one.cause)
        return lines

    def _begin(self, cause: Cause, present: float) -> None:
        self._forget(cause)
        self._episodes[cause.key] = _Episode(cause, present, present, present)
        self._of_kind[cause.kind] += 1
        if len(self._episodes) > MOST:
            self._forget(next(iter(self._episodes.values())).cause)

    def _forget(self, cause: Cause) -> None:
        if self._episodes.pop(cause.key, None) is not None:
            self._of_kind[cause.kind] -= 1
            if not self._of_kind[cause.kind]:
                del self._of_kind[cause.kind]

    def _repetition(self, one: _Episode, present: float) -> str:
        times = "once" if one.unsaid == 1 else f"{one.unsaid:,} times"
        line = f"{one.cause.words} (and {times} more in {present - one.said_at:.0f} s)"
        one.unsaid, one.said_at, one.wait_s = 0, present, min(2 * one.wait_s, LONGEST_S)
        return line


def _end(one: _Episode) -> str:
    begin = "the database answers again" if one.cause.is_away else "over"
    return f"{begin} after {one.last_at - one.first_at:.0f} s: {one.cause.words} came {one.count:,} times"
