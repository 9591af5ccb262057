"""What earlier attempts have told already: the end of the events file."""

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from contract.folder.events import Event, Points, reader

BLOCK_BYTES = 1 << 16


def last_step(path: Path) -> int:
    """The step that was measured last; 0 when none was."""
    return next((event.step for line in _backwards(path) if isinstance(event := _parse(line), Points)), 0)


def mend_end(number: int) -> None:
    """End a line that a crash tore, so that the next one is whole; `number` is the open file's."""
    size = os.fstat(number).st_size
    if size and os.pread(number, 1, size - 1) != b"\n":
        os.write(number, b"\n")


def _backwards(path: Path) -> Iterator[bytes]:
    """The file's lines, the last one first."""
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
        return reader.validate_json(line)
    except ValidationError:
        return None
