"""Progress as it is shown: bars in a terminal, now and then a plain line elsewhere."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bigbatch.terminal.output import accuracy_of, name_of, percent
from contract.api.responses import RunView
from contract.lifecycle.state import ENDED, State
from contract.metric_names import LOSS

Show = Callable[[Sequence[RunView]], None]
BARS = 8  # as many as are read at a glance
LINE_S = 5.0  # between two plain lines


@contextmanager
def display(out: Console) -> Iterator[Show]:
    """What to call with every look at the runs."""
    if not out.is_terminal or out.is_dumb_terminal:
        yield Lines(out).show
        return
    # auto_refresh would be a thread, and processes are started while this is shown
    with Live(console=out, auto_refresh=False) as live:
        yield lambda runs: live.update(bars(runs), refresh=True)


class Lines:
    """A line whenever some seconds have passed and something has changed."""

    def __init__(self, out: Console) -> None:
        self._out, self._last, self._at = out, "", float("-inf")

    def show(self, runs: Sequence[RunView]) -> None:
        line = "; ".join([summary(runs), *(f"{name_of(run)}: {measured(run)}" for run in _shown(runs)[:2])])
        if line != self._last and time.monotonic() - self._at >= LINE_S:
            self._out.print(line, soft_wrap=True)
            self._last, self._at = line, time.monotonic()


def bars(runs: Sequence[RunView]) -> RenderableType:
    """One line on the whole, then a bar per live run."""
    table = Table.grid(padding=(0, 2))
    for run in _shown(runs):
        bar = ProgressBar(total=max(run.steps, 1), completed=run.step, width=24)
        table.add_row(Text(name_of(run), overflow="ellipsis", no_wrap=True), bar, Text(measured(run), no_wrap=True))
    return Group(Text(summary(runs)), table)


def summary(runs: Sequence[RunView]) -> str:
    """How far the runs are taken together, and how many are in which state."""
    steps = sum(run.steps for run in runs)
    share = percent(sum(run.step for run in runs) / steps if steps else 1.0)
    counts = Counter(run.state for run in runs)
    return f"{share}: " + ", ".join(f"{counts[state]} {state}" for state in State if counts[state])


def measured(run: RunView) -> str:
    """How far a run is and what it has measured, or why it has not begun."""
    if run.state is not State.RUNNING and not run.step:
        return f"{run.state}: {run.reason}" if run.reason else run.state
    loss = run.latest.get(LOSS)
    told = f"{run.step}/{run.steps}  loss {'-' if loss is None else f'{loss:.4g}'}  held-out {accuracy_of(run)}"
    doubt = "  (its cluster does not answer)" if run.unknown_since else ""
    again = f"  (attempt {run.attempt})" if run.attempt > 1 else ""
    return told + again + ("  (stopping)" if run.stopping else "") + doubt


def _shown(runs: Sequence[RunView]) -> list[RunView]:
    """The live runs, those that train first."""
    order = [State.RUNNING, State.PENDING, State.PAUSED, State.SUBMITTING, State.QUEUED]
    live = [run for run in runs if run.state not in ENDED]
    return sorted(live, key=lambda run: order.index(run.state))[:BARS]
