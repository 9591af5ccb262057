"""New whole lines of an events file, from a byte onward."""

import logging
import os
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from contract.folder.events import Event, event_reader

MAX_BYTES = 4_000_000  # of one read; a longer backlog takes several
log = logging.getLogger(__name__)


class Tail(NamedTuple):
    events: list[Event]
    cursor: int  # the byte after the last whole line
    more: bool  # the file goes on beyond this read


def has_grown(path: Path, cursor: int) -> bool:
    """Return whether the file goes on beyond `cursor`, which takes less time than reading it."""
    try:
        return os.stat(path).st_size > cursor
    except FileNotFoundError:
        return False


def read_tail(path: Path, cursor: int) -> Tail:
    """Read the lines since `cursor`; a half-written line waits, a damaged one is skipped and named in the log."""
    try:
        with path.open("rb") as file:
            file.seek(cursor)
            new = file.read(MAX_BYTES)
    except FileNotFoundError:
        return Tail([], cursor, False)
    whole = new[: new.rfind(b"\n") + 1]
    events = [event for line in whole.splitlines() if (event := _parse(path, line))]
    return Tail(events, cursor + len(whole), len(new) == MAX_BYTES and bool(whole))


def _parse(path: Path, line: bytes) -> Event | None:
    try:
        return event_reader.validate_json(line)
    except ValidationError:
        log.warning("%s: skipped a line that is no event: %r", path, line[:200])
        return None
