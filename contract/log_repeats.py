"""What repeats in a log is said once: a database that is away fails every tick, and had a traceback for each."""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

FIRST_S, LONGEST_S = 10.0, 600.0  # between two lines of one cause; each interval is twice the one before
QUIET_S, GAPS = 10.0, 3  # a cause is over after so long, and after so many of its longest gaps, without it
SEVERAL = 3  # lines of a cause whose end is told
FORGET_S = 3600.0  # a cause that comes again later is told as a new one
MOST = 500  # causes that are known at once
WORDS = 300  # characters of a cause
PACKAGES = frozenset(("api", "bigbatch", "contract", "migrations", "scheduler", "store", "study"))
_DATABASE = frozenset(("OperationalError", "InterfaceError"))  # of SQLAlchemy: they come from wherever it is used


class Cause(NamedTuple):
    """What makes lines of the log alike."""

    key: tuple[str, ...]
    words: str  # for people
    is_database: bool


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

    def take(self, record: logging.LogRecord) -> str | None:
        """Return what to say in the place of a repetition, "" for nothing; None: the record itself is said."""
        cause, present = cause_of(record), self._clock()
        with self._lock:
            known = self._episodes.pop(cause.key, None)
            if known is None or present - known.last_at >= FORGET_S:
                self._episodes[cause.key] = _Episode(cause, present, present, present)
                if len(self._episodes) > MOST:
                    del self._episodes[next(iter(self._episodes))]
                return None
            if known.is_over:
                self._episodes[cause.key] = _Episode(cause, present, present, present)
                return f"again: {cause.words}"
            self._episodes[cause.key] = known  # the last one in order
            known.count, known.unsaid = known.count + 1, known.unsaid + 1
            known.gap_s, known.last_at = max(known.gap_s, present - known.last_at), present
            return self._repetition(known, present) if present - known.said_at >= known.wait_s else ""

    def look(self) -> list[str]:
        """Return a line for each cause that came several times and is over."""
        present, lines = self._clock(), []
        with self._lock:
            for one in self._episodes.values():
                still_s = present - one.last_at
                if not one.is_over and one.count >= SEVERAL and still_s >= max(QUIET_S, GAPS * one.gap_s):
                    one.is_over = True
                    lines.append(_end(one))
        return lines

    def _repetition(self, one: _Episode, present: float) -> str:
        times = "once" if one.unsaid == 1 else f"{one.unsaid:,} times"
        line = f"{one.cause.words} (and {times} more in {present - one.said_at:.0f} s)"
        one.unsaid, one.said_at, one.wait_s = 0, present, min(2 * one.wait_s, LONGEST_S)
        return line


def _end(one: _Episode) -> str:
    begin = "the database answers again" if one.cause.is_database else "over"
    return f"{begin} after {one.last_at - one.first_at:.0f} s: {one.cause.words} came {one.count:,} times"


def cause_of(record: logging.LogRecord) -> Cause:
    """Return the cause of a record: the kind and the place of its exception; without one what it says."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        text = record.getMessage()
        return Cause((record.name, str(record.levelno), text), text[:WORDS], False)
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    kind, said = type(error).__name__, (str(error).splitlines() or [""])[0][:WORDS]
    words = f"{kind}: {said}" if said else kind
    if kind in _DATABASE and type(error).__module__.startswith("sqlalchemy."):
        return Cause((kind, re.sub(r"[0-9]+", "", said)), words, True)
    place = _place_of(error.__traceback__)
    return Cause((kind, place), f"{words} (at {place})", False)


def _place_of(traceback: TracebackType | None) -> str:
    """Return the innermost line of our own code that raised an exception, else the innermost line."""
    places = list(_places(traceback))
    own = [place for place in places if place.partition("/")[0] in PACKAGES]
    return (own or places or ["an unknown place"])[-1]


def _places(traceback: TracebackType | None) -> Iterator[str]:
    root = str(Path(__file__).parents[1]) + "/"
    while traceback is not None:
        yield f"{traceback.tb_frame.f_code.co_filename.removeprefix(root)}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
