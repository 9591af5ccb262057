"""New whole lines of an events file, from a byte onward."""

import logging
from typing import NamedTuple

from pydantic import ValidationError

from contract.folder.events import Event, event_reader
from contract.folder.run_folder import EVENTS, RunFolder
from contract.folder.untrusted_file import UnreadableFileError, open_file, size_of

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
    """Read the lines since `cursor`; a half-written line waits, a damaged one is skipped and named in the log.

    A file that cannot be opened safely has no events, so that its run still ends by its job's end.
    """
    try:
        with open_file(folder.path, EVENTS) as file:
            new = file.read(cursor, MAX_BYTES)
    except FileNotFoundError:
        return Tail([], cursor, False)
    except UnreadableFileError as error:
        log.warning("the events cannot be read: %s", error)
        return Tail([], cursor, False)
    whole = new[: new.rfind(b"\n") + 1]
    events = [event for line in whole.splitlines() if (event := _parse(folder, line))]
    return Tail(events, cursor + len(whole), len(new) == MAX_BYTES and bool(whole))


def _parse(folder: RunFolder, line: bytes) -> Event | None:
    try:
        return event_reader.validate_json(line)
    except ValidationError:
        log.warning("%s: skipped a line that is no event: %r", folder.events, line[:200])
        return None
