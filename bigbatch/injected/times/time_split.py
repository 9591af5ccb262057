"""TimeSplit: write one rank's step times to its table, and on rank 0 the merged times of all ranks.

times/rank-R.csv   of each rank: its own times; communication contains the wait for slower ranks
times.csv          of all ranks, as the engine writes it (contract/folder/rank_times.py); rank 0 writes
events.jsonl       the means over the ranks, as points; rank 0 appends
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from bigbatch.injected.process import RankProcess
from bigbatch.injected.step_timer import StepTimer
from bigbatch.injected.times.merge import Merged
from bigbatch.injected.times.points import Points
from bigbatch.injected.times.rank_tables import RankTables
from bigbatch.injected.times.step_windows import StepWindows, Window
from bigbatch.injected.times.table_file import TableFile, format_row

LAST_ROWS_S, POLL_S = 1.0, 0.02  # at the end of rank 0, for the last rows of other ranks


class TimeSplit:
    """Writes what the timer has measured since the last call, about once a second."""

    def __init__(self, process: RankProcess, timer: StepTimer) -> None:
        self._process, self._timer = process, timer
        self._windows = StepWindows()
        folder = os.path.join(process.folder, "times")
        path = os.path.join(folder, f"rank-{process.rank}.csv")
        with suppress(OSError):
            os.makedirs(folder, exist_ok=True)
            os.unlink(path)  # an earlier attempt's: its rows are merged, or lost with its rank 0
        self._table = TableFile(path)
        self._merged_table = TableFile(os.path.join(process.folder, "times.csv"))
        self._tables = RankTables(folder, process.attempt, process.world) if process.rank == 0 else None
        self._points = Points(process.folder, process.attempt)

    def write(self, *, is_last: bool = False) -> None:
        """Append the times of the steps that have ended; an error of the file system loses the rows of this call."""
        windows = [window for step in self._timer.take_ended() if (window := self._windows.add(*step))]
        if is_last and (rest := self._windows.close()):
            windows.append(rest)
        if windows:
            with suppress(OSError):
                self._table.append([self._row(window) for window in windows])
        if self._tables is not None:
            merged = self._tables.take_merged()
            until = time.monotonic() + LAST_ROWS_S
            while is_last and self._tables.is_behind() and time.monotonic() < until:
                time.sleep(POLL_S)
                merged += self._tables.take_merged()
            with suppress(OSError):
                self._points.report(merged)
            if merged:
                with suppress(OSError):
                    self._merged_table.append(self._merged_rows(merged))

    def _row(self, window: Window) -> str:
        process, parts = self._process, (*window.parts, 0.0)
        return format_row(process.attempt, (window.first, window.last), process.rank, parts)

    def _merged_rows(self, merged: list[Merged]) -> list[str]:
        """Return one row per rank for the whole range: rows of each step would make the table large."""
        first, last = merged[0].first, merged[-1].last
        rows = []
        for rank in sorted(merged[-1].ranks):
            known = [(ranges.ranks[rank], ranges.last - ranges.first + 1) for ranges in merged if rank in ranges.ranks]
            steps = sum(count for _, count in known)
            means = [sum(parts[index] * count for parts, count in known) / steps for index in range(len(known[0][0]))]
            rows.append(format_row(self._process.attempt, (first, last), rank, means))
        return rows
