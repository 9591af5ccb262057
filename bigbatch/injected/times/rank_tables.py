"""RankTables: rank 0 reads the tables of all ranks while they grow."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from bigbatch.injected.times.merge import Merged, merge_next
from bigbatch.injected.times.step_windows import Window

READ_BYTES = 1 << 18  # of one table at once
SILENT_S = 60.0  # a rank that writes nothing for so long, while others do, is left out
MAX_WAITING = 20_000  # ranges of one rank that wait for other ranks
COLUMNS = 9


class RankTables:
    """The tables `times/rank-R.csv` of an attempt, read by rank 0."""

    def __init__(self, folder: str, attempt: int, world: int) -> None:
        self._tables = {rank: _Table(os.path.join(folder, f"rank-{rank}.csv"), attempt, rank) for rank in range(world)}

    def take_merged(self) -> list[Merged]:
        """Read what is new, and return the common ranges that are complete now."""
        for table in self._tables.values():
            with suppress(OSError, ValueError):
                table.read()
        newest = max(table.grew_at for table in self._tables.values())
        for rank, table in [*self._tables.items()]:
            if rank and newest - table.grew_at > SILENT_S:
                del self._tables[rank]
        queues, merged = {rank: table.windows for rank, table in self._tables.items()}, []
        while (ranges := merge_next(queues)) is not None:
            merged.append(ranges)
        return merged

    def is_behind(self) -> bool:
        """Return whether ranges wait for rows of other ranks."""
        return any(table.windows for table in self._tables.values())


class _Table:
    """One rank's table, with the ranges that are not merged yet."""

    def __init__(self, path: str, attempt: int, rank: int) -> None:
        self.windows: list[Window] = []
        self.grew_at = time.monotonic()
        self._path, self._keys = path, (str(attempt), str(rank))
        self._offset = self._last = 0

    def read(self) -> None:
        """Read the rows that were appended; raise OSError or ValueError."""
        file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if os.fstat(file).st_size < self._offset:  # the table was shortened
                self._offset = 0
            text = os.pread(file, READ_BYTES, self._offset)
        finally:
            os.close(file)
        lines, end, _ = text.rpartition(b"\n")
        self._offset += len(lines) + len(end)
        for line in lines.decode("ascii", "replace").split("\n"):
            self._append(line.split(","))
        del self.windows[: max(0, len(self.windows) - MAX_WAITING)]

    def _append(self, values: list[str]) -> None:
        if len(values) != COLUMNS or (values[0], values[3]) != self._keys or int(values[1]) <= self._last:
            return
        window = Window(int(values[1]), int(values[2]), tuple(map(float, values[4:8])))
        self.windows.append(window)
        self._last, self.grew_at = window.last, time.monotonic()
