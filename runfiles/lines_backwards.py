"""The lines of a file from its end: of events that a run wrote before, of which the last ones count."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO

BLOCK_BYTES = 1 << 16
LONGEST = 4_000_000  # bytes of a line (scheduler/events/tail.py)


def lines_backwards(file: IO[bytes], max_bytes: int) -> Iterator[bytes]:
    """Yield the lines in the last `max_bytes` of the file, the last one first.

    A line of more than LONGEST bytes, which the service does not read either, is left out, and so is one that begins
    before: each byte is read once, and a line of gigabytes takes no memory.
    """
    end, parts, size = file.seek(0, os.SEEK_END), list[bytes](), 0  # of the line whose beginning is not read yet
    stop = max(0, end - max_bytes)
    while end > stop:
        start = max(stop, end - BLOCK_BYTES)
        file.seek(start)
        *before, part = file.read(end - start).split(b"\n")
        while True:
            size += len(part)
            parts = [*parts, part] if size <= LONGEST else []
            if not before:
                break
            if size <= LONGEST:
                yield b"".join(reversed(parts))
            parts, size, part = [], 0, before.pop()
        end = start
    if not end and size <= LONGEST:
        yield b"".join(reversed(parts))
