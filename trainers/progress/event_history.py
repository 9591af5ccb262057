"""Read the end of the events file, which earlier attempts have written."""

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from contract.folder.events import Event, Points, event_reader

BLOCK_BYTES = 1 << 16


def read_last_step(path: Path) -> int:
    """Return the last step that has metrics, or 0 if there is none."""
    return next((event.step for line in _read_backwards(path) if isinstance(event := _parse(line), Points)), 0)


def end_torn_line(descriptor: int) -> None:
    """End a line that a crash left incomplete, so that the next line is whole; `descriptor` is the open file's."""
    size = os.fstat(descriptor).st_size
    if size and os.pread(descriptor, 1, size - 1) != b"\n":
        os.write(descriptor, b"\n")


def _read_backwards(path: Path) -> Iterator[bytes]:
    """Yield the file's lines, the last line first."""
    with path.open("rb") as file:
        end, rest = file.seek(0, os.SEEK_END), b""
        while end:
            start = max(0, end - BLOCK_BYTES)
            file.seek(start)
            rest, *lines = (file.read(end - start) + rest).split(b"\n")
            yield from reversed(lines)
            end = start
        yield rest


def _parse(line: bytes) -> Event | None:
    try:
        return event_reader.validate_json(line)
    except ValidationError:
        return None
