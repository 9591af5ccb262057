"""TableFile: a table of step times in the run folder that one process appends to, of bounded size."""

from __future__ import annotations

import os
from collections.abc import Sequence

from bigbatch.injected.parts import TIME_PARTS

HEADER = ",".join(("attempt", "first_step", "last_step", "rank", *TIME_PARTS)) + "\n"
MAX_BYTES, LAST_BYTES = 1 << 22, 1 << 20  # a file of more than MAX_BYTES is replaced by one with its last rows


class TableFile:
    """Appends whole lines to a table; opens the file for each append, so that other hosts see the rows on NFS."""

    def __init__(self, path: str) -> None:
        self._path = path

    def append(self, rows: Sequence[str]) -> None:
        """Append rows; the file begins with the header. Raise OSError."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(self._path, flags, 0o644)
        try:
            size = os.fstat(file).st_size
            is_torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
            head = HEADER if size == 0 else "\n" if is_torn else ""
            os.write(file, (head + "".join(f"{row}\n" for row in rows)).encode())
            if size > MAX_BYTES:
                self._shorten(file)
        finally:
            os.close(file)

    def _shorten(self, file: int) -> None:
        rows = os.pread(file, LAST_BYTES, os.fstat(file).st_size - LAST_BYTES).partition(b"\n")[2]
        new = f"{self._path}.new"
        with open(new, "wb") as shorter:
            shorter.write(HEADER.encode() + rows)
        os.replace(new, self._path)


def format_row(attempt: int, steps: tuple[int, int], rank: int, parts: Sequence[float]) -> str:
    """Return one row of the table, without its end of line."""
    return ",".join(map(str, (attempt, *steps, rank, *(f"{part_s:.6g}" for part_s in parts))))
