"""New whole lines of an events file, from a byte onward."""

import logging
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import ValidationError

from contract.folder.events import Event, event_reader
from contract.folder.files.untrusted_file import RegularFile, UnreadableFileError, open_file, stat_file
from contract.folder.record import read_record
from contract.folder.run_folder import EVENTS, RunFolder

MAX_BYTES = 4_000_000  # of one read; a longer backlog takes several
MAX_PARTS_OF_LINE = 16  # reads of MAX_BYTES without an end of line, after which the file has no more events for now
log = logging.getLogger(__name__)


class Tail(NamedTuple):
    events: list[Event]
    cursor: int  # the byte after the last whole line
    more: bool  # the file goes on beyond this read


def has_grown(folder: RunFolder, cursor: int) -> bool:
    """Return whether the file goes on beyond `cursor`, which takes less time than reading it.

    Raises UnreadableFileError for what is no regular file, so that a run that can report nothing ends.
    """
    try:
        return stat_file(folder.path, EVENTS).st_size > cursor
    except FileNotFoundError:
        return False


def read_tail(folder: RunFolder, cursor: int) -> Tail:
    """Read the lines since `cursor`; a half-written line waits, damaged ones are skipped and counted in the log.

    A line that is longer than MAX_BYTES is damaged too. A file that cannot be opened safely has no events, so that its
    run still ends by its job's end.
    """
    try:
        with open_file(folder.path, EVENTS) as file:
            return _read_lines(folder, file, cursor)
    except FileNotFoundError:
        return Tail([], cursor, False)
    except UnreadableFileError as error:
        log.warning("the events cannot be read: %s", error)
        return Tail([], cursor, False)


def _read_lines(folder: RunFolder, file: RegularFile, cursor: int) -> Tail:
    """Read MAX_BYTES; where they are all of one line, go on, but not for ever: a sparse file may have a terabyte."""
    start = cursor
    for _ in range(MAX_PARTS_OF_LINE):
        new = file.read(start, MAX_BYTES)
        is_full, end = len(new) == MAX_BYTES, new.rfind(b"\n") + 1
        if end or not is_full:
            return Tail(list(_events(folder, new[:end])), start + end, is_full)
        start += len(new)
    log.warning("%s: skipped %d bytes without an end of line: %r", folder.events, start - cursor, new[:200])
    return Tail([], start, False)  # if the job is gone, its run ends now


def _events(folder: RunFolder, lines: bytes) -> Iterator[Event]:
    """Yield the valid events; write one line to the log for all invalid ones, for there may be millions."""
    skipped, example = 0, b""
    for line in lines.splitlines():
        try:
            yield read_record(event_reader, line)
        except ValidationError:
            skipped, example = skipped + 1, example or line[:200]
    if skipped:
        log.warning("%s: skipped %d lines that are no events, such as %r", folder.events, skipped, example)
