"""New whole lines of an events file, from a byte onward."""

import logging
from typing import NamedTuple

from pydantic import ValidationError

from contract.folder.events import Event, Points, event_reader
from contract.folder.files.untrusted_file import RegularFile, UnreadableFileError, open_file, stat_file
from contract.folder.record import read_record
from contract.folder.run_folder import EVENTS, RunFolder

MAX_BYTES = 4_000_000  # of one read; a longer backlog takes several
MAX_BACKLOG_BYTES = 4 << 30  # more than a run can report while no worker is there, and less than takes hours to read
EXAMPLE_BYTES = 80  # of an invalid line, in the log
MAX_PARTS_OF_LINE = 16  # reads of MAX_BYTES without an end of line, after which the file has no more events for now
KIND = b'"kind"'  # each event has it; a line without it is told from one in a hundredth of the time
MOST_INVALID = 10_000  # lines with it that are no events, in one read: each takes some microseconds
log = logging.getLogger(__name__)


class Damage(NamedTuple):
    """Lines that are no events."""

    lines: int = 0
    size_bytes: int = 0

    def plus(self, other: "Damage") -> "Damage":
        """Return the sum."""
        return Damage(self.lines + other.lines, self.size_bytes + other.size_bytes)


class Tail(NamedTuple):
    """What was read: there may be hundreds of thousands of events, nearly all of them points."""

    events: list[Event]
    cursor: int  # the byte after the last whole line
    more: bool  # the file goes on beyond this read
    damage: Damage = Damage()
    rest: int = 0  # bytes of a last line without an end

    def others(self) -> list[Event]:
        """Return the events that are no points."""
        return [event for event in self.events if type(event) is not Points]


def has_grown(folder: RunFolder, cursor: int) -> bool:
    """Return whether the file goes on beyond `cursor`, which takes less time than reading it.

    Raises UnreadableFileError for what is no regular file, so that a run that can report nothing ends.
    """
    try:
        return stat_file(folder.path, EVENTS).st_size > cursor
    except FileNotFoundError:
        return False


class BacklogError(Exception):
    """A run's events file has too many unread bytes."""


def read_tail(folder: RunFolder, cursor: int, max_bytes: int = MAX_BYTES) -> Tail:
    """Read the lines since `cursor`; a half-written line waits, damaged ones are skipped and counted in the log.

    At most `max_bytes` are read, or MAX_BYTES if the first line is longer; a line that is longer than MAX_BYTES is
    damaged too. A file that cannot be opened safely has no events, so that its run still ends by its job's end. Raise
    BacklogError if more than MAX_BACKLOG_BYTES are unread: the run would not end for hours.
    """
    try:
        with open_file(folder.path, EVENTS) as file:
            if (unread := file.size - cursor) > MAX_BACKLOG_BYTES:
                raise BacklogError(f"{EVENTS} has {unread:,} unread bytes, more than {MAX_BACKLOG_BYTES:,}")
            return read_lines(str(folder.events), file, cursor, max_bytes)
    except (FileNotFoundError, UnreadableFileError):  # the end of the run names the latter (obstacle.py)
        return Tail([], cursor, False)


def read_lines(path: str, file: RegularFile, cursor: int, max_bytes: int) -> Tail:
    """Read `max_bytes`; where they are all of one line, go on, but not for ever: a sparse file may have gigabytes.

    `path` names the file in the log.
    """
    start = cursor
    for _ in range(MAX_PARTS_OF_LINE):
        new = file.read(start, max_bytes)
        is_full, end = len(new) == max_bytes, new.rfind(b"\n") + 1
        if is_full and not end and max_bytes < MAX_BYTES:
            max_bytes = MAX_BYTES  # the first line may be as long as that
            continue
        if end or not is_full:
            events, damage, taken = _events(path, new[:end])
            if taken < end:
                return Tail(events, start + taken, True, damage)
            return Tail(events, start + end, is_full, damage, 0 if is_full else len(new) - end)
        start += len(new)
    log.warning("%s: skipped %d bytes without an end of line: %r", path, start - cursor, new[:EXAMPLE_BYTES])
    return Tail([], start, False, Damage(1, start - cursor))  # if the job is gone, its run ends now


def _events(path: str, lines: bytes) -> tuple[list[Event], Damage, int]:
    """Return the valid events, the damage, and how many bytes were taken: fewer after MOST_INVALID invalid events.

    One line of the log is for all invalid ones, for there may be millions.
    """
    events, skipped, size, example = list[Event](), 0, 0, b""
    taken = invalid = 0
    for whole in lines.splitlines(keepends=True):
        taken += len(whole)
        if KIND in whole:
            try:
                events.append(read_record(event_reader, whole))
                continue
            except ValidationError:
                invalid += 1
        if line := whole.rstrip(b"\r\n"):  # an empty one ends a line that was cut off
            skipped, size, example = skipped + 1, size + len(line), example or line[:EXAMPLE_BYTES]
        if invalid == MOST_INVALID:
            break
    if skipped:
        log.warning("%s: skipped %d lines that are no events, such as %r", path, skipped, example)
    return events, Damage(skipped, size), taken
