"""Read the end of the events file, which earlier attempts have written."""

import os
from pathlib import Path

from pydantic import ValidationError

from contract.folder.events import Event, Points, event_reader
from contract.folder.files.lines_backwards import lines_backwards

SEARCHED_BYTES = 1 << 28  # of the file's end


def read_last_step(path: Path) -> int:
    """Return the last step that has metrics, or 0 if there is none."""
    with path.open("rb") as file:
        events = map(_parse, lines_backwards(file, SEARCHED_BYTES))
        return next((event.step for event in events if isinstance(event, Points)), 0)


def end_torn_line(descriptor: int) -> None:
    """End a line that a crash left incomplete, so that the next line is whole; `descriptor` is the open file's."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        os.write(descriptor, b"\n")


def _parse(line: bytes) -> Event | None:
    try:
        return event_reader.validate_json(line)
    except ValidationError:
        return None
