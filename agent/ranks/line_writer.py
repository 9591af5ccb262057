"""LineWriter: bring one stream of a rank to its file of lines, whole lines at once."""

from __future__ import annotations

import os
from contextlib import suppress

LONGEST = 1 << 16  # bytes of a line that waits for its end; of a longer one a part is written


class LineWriter:
    """Writes one file, which appears with its first line.

    The file is opened for each write: other hosts see on NFS what was written as soon as the file is closed.
    """

    def __init__(self, path: str) -> None:
        self.end_of_lines = 0  # the byte after the last whole line in the file
        self._path = path
        self._size = 0  # bytes in the file
        self._waiting = b""
        self._is_inside_lost = False  # the beginning of the present line was given up

    def take(self, data: bytes) -> None:
        """Add what the stream has brought."""
        if self._is_inside_lost:
            _, newline, data = data.partition(b"\n")
            self._is_inside_lost = not newline
        self._waiting += data

    def write(self, *, is_end: bool = False) -> bool:
        """Write the whole lines, with `is_end` also a rest without its end; return whether there was something.

        Raise OSError; then the same bytes are written again at the same place by the next call.
        """
        data = self._waiting[: self._length(is_end=is_end)]
        if not data:
            return False
        # a file that is gone was read and deleted by a later attempt: nobody reads what a late process adds
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | (0 if self._size else os.O_CREAT)
        file = os.open(self._path, flags, 0o644)
        try:
            done = 0
            while done < len(data):
                done += os.pwrite(file, data[done:], self._size + done)
        finally:
            os.close(file)
        self._advance(data)
        self._waiting = self._waiting[len(data) :]
        return True

    def give_up(self) -> None:
        """Give up what waits, except for a line whose end is not there yet; whole lines in the file remain.

        A reader may have read lines of a write that failed later, so these stay; a part of a line goes.
        """
        with suppress(OSError):
            written = self._waiting[: max(os.path.getsize(self._path) - self._size, 0)]
            written = written[: written.rfind(b"\n") + 1]
            os.truncate(self._path, self._size + len(written))
            self._advance(written)
        end = self._waiting.rfind(b"\n") + 1
        self._is_inside_lost = not end
        self._waiting = self._waiting[end:] if end else b""

    def _length(self, *, is_end: bool) -> int:
        """Return how many of the bytes that wait are to be written."""
        end = self._waiting.rfind(b"\n") + 1
        return len(self._waiting) if is_end or (not end and len(self._waiting) >= LONGEST) else end

    def _advance(self, written: bytes) -> None:
        if end := written.rfind(b"\n") + 1:
            self.end_of_lines = self._size + end
        self._size += len(written)
