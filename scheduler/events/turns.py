"""The order in which a tick reads its runs: a run that reports very many series costs as much as hundreds of others."""

import time
from collections.abc import Sequence

from scheduler.context import Context
from scheduler.events.report import RunReport
from store.runs import LiveRun

WIDE = 200  # series in one report: to store them takes about 20 ms


def note_width(context: Context, report: RunReport, series: int) -> None:
    """Remember, while the run lives, that it reports many series, and when it was read."""
    if series > WIDE or report.run.id in context.memory.wide_read_at:
        context.memory.wide_read_at[report.run.id] = time.monotonic()


def in_turns(context: Context, live: Sequence[LiveRun]) -> tuple[list[LiveRun], list[LiveRun]]:
    """Return the runs that are all read at first, and those with many series, which share a budget, in their turns."""
    read_at = context.memory.wide_read_at
    wide = sorted((run for run in live if run.id in read_at), key=lambda run: read_at[run.id])
    return [run for run in live if run.id not in read_at], wide
