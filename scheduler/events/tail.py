"""New whole lines of an events file, from a byte onward."""

import logging
import os
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from contract.folder.events import Event, reader

AT_ONCE_BYTES = 4_000_000  # per look; a longer backlog takes several
log = logging.getLogger(__name__)


class Tail(NamedTuple):
    events: list[Event]
    cursor: int  # the byte after the last whole line
    more: bool  # the file goes on beyond what was read at once


def has_news(path: Path, cursor: int) -> bool:
    """Whether the file has grown beyond `cursor`; much quicker than reading it, which matters for ten thousand."""
    try:
        return os.stat(path).st_size > cursor
    except FileNotFoundError:
        return False


def read_tail(path: Path, cursor: int) -> Tail:
    """Read what was written since `cursor`; a half-written line waits, a torn one is skipped and named in the log."""
    try:
        with path.open("rb") as file:
            file.seek(cursor)
            fresh = file.read(AT_ONCE_BYTES)
    except FileNotFoundError:
        return Tail([], cursor, False)
    whole = fresh[: fresh.rfind(b"\n") + 1]
    events = [event for line in whole.splitlines() if (event := _parse(path, line))]
    return Tail(events, cursor + len(whole), len(fresh) == AT_ONCE_BYTES and bool(whole))


def _parse(path: Path, line: bytes) -> Event | None:
    try:
        return reader.validate_json(line)
    except ValidationError:
        log.warning("%s: not an event, skipped: %r", path, line[:200])
        return None
