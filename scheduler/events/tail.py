"""New whole lines of an events file, from a byte onward."""

import logging
from collections.abc import Iterator
from typing import NamedTuple

from pydantic import ValidationError

from contract.folder.events import Event, event_reader
from contract.folder.files.untrusted_file import UnreadableFileError, open_file, size_of
from contract.folder.record import read_record
from contract.folder.run_folder import EVENTS, RunFolder

MAX_BYTES = 4_000_000  # of one read; a longer backlog takes several
log = logging.getLogger(__name__)


class Tail(NamedTuple):
    events: list[Event]
    cursor: int  # the byte after the last whole line
    more: bool  # the file goes on beyond this read


def has_grown(folder: RunFolder, cursor: int) -> bool:
    """Return whether the file goes on beyond `cursor`, which takes less time than reading it."""
    # `read_tail` reports an unreadable file once the job is gone: a line per tick would fill the log
    return (size_of(folder.path, EVENTS) or 0) > cursor


def read_tail(folder: RunFolder, cursor: int) -> Tail:
    """Read the lines since `cursor`; a half-written line waits, damaged ones are skipped and counted in the log.

    A line that is longer than MAX_BYTES is damaged too: the rest of it is skipped by the next reads. A file that cannot
    be opened safely has no events, so that its run still ends by its job's end.
    """
    try:
        with open_file(folder.path, EVENTS) as file:
            new = file.read(cursor, MAX_BYTES)
    except FileNotFoundError:
        return Tail([], cursor, False)
    except UnreadableFileError as error:
        log.warning("the events cannot be read: %s", error)
        return Tail([], cursor, False)
    is_full = len(new) == MAX_BYTES
    end = new.rfind(b"\n") + 1
    if is_full and not end:
        log.warning("%s: skipped a part of a line of more than %d bytes: %r", folder.events, MAX_BYTES, new[:200])
        return Tail([], cursor + len(new), True)
    return Tail(list(_events(folder, new[:end])), cursor + end, is_full)


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
