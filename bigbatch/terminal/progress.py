"""Display of progress: bars in a terminal, else one line every few seconds."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bigbatch.terminal.output import (
    format_accuracy,
    format_count,
    format_figure,
    format_percent,
    format_steps,
    format_values,
    run_name,
)
from contract.api.responses import RunView
from contract.lifecycle.state import ENDED, State
from contract.metric_names import HELDOUT_ACCURACY, LOSS

Show = Callable[[Sequence[RunView]], None]
BARS = 8  # maximum number of bars
LINE_S = 5.0  # between two plain lines


@contextmanager
def show_progress(out: Console) -> Iterator[Show]:
    """Yield a function that shows the state of the runs; call it after every poll."""
    if not out.is_terminal or out.is_dumb_terminal:
        yield LineDisplay(out).show
        return
    # auto_refresh starts a thread, which is unsafe while this process forks
    with Live(console=out, auto_refresh=False) as live:
        yield lambda runs: live.update(render_bars(runs), refresh=True)


class LineDisplay:
    """Prints one line after a change, at most one line per LINE_S seconds."""

    def __init__(self, out: Console) -> None:
        self._out, self._last, self._at = out, "", float("-inf")

    def show(self, runs: Sequence[RunView]) -> None:
        """Print the progress of the runs, if it is due; their end always is."""
        is_end = all(run.state in ENDED for run in runs)
        line = "; ".join([summarize(runs), *(f"{run_name(run)}: {describe_progress(run)}" for run in _shown(runs)[:2])])
        if line != self._last and (is_end or time.monotonic() - self._at >= LINE_S):
            self._out.print(line, soft_wrap=True)
            self._last, self._at = line, time.monotonic()


def render_bars(runs: Sequence[RunView]) -> RenderableType:
    """Return a summary line and a bar per live run."""
    table = Table.grid(padding=(0, 2))
    for run in _shown(runs):
        bar = ProgressBar(total=max(run.steps, 1), completed=run.step, width=24)
        table.add_row(
            Text(run_name(run), overflow="ellipsis", no_wrap=True), bar, Text(describe_progress(run), no_wrap=True)
        )
    return Group(Text(summarize(runs)), table)


def summarize(runs: Sequence[RunView]) -> str:
    """Return the progress of all runs and the number of runs in each state.

    The share is of the steps where those of all runs are known, else of the runs that have ended, each of which is
    complete.
    """
    counts = Counter(state_name(run) for run in sorted(runs, key=lambda run: list(State).index(run.state)))
    states = ", ".join(f"{count} {name}" for name, count in counts.items())
    if all(run.steps for run in runs):
        done = sum(run.step for run in runs) / max(1, sum(run.steps for run in runs))
        return f"{format_percent(min(1.0, done))}: {states}"
    ended = sum(run.state in ENDED for run in runs)
    return f"{ended} of {format_count(len(runs), 'run')} ended: {states}"


def state_name(run: RunView) -> str:
    """Return the state of a run; "paused" and "queued" would say that all is well after a failure."""
    if run.after_failure:
        return "failing" if run.state is State.PAUSED else "retrying"
    return run.state


def describe_progress(run: RunView) -> str:
    """Return the run's step and newest values, or why the run has not started."""
    if run.after_failure or (run.state is not State.RUNNING and not run.step):
        return f"{state_name(run)}: {run.reason}" if run.reason else state_name(run)
    values = f"{format_steps(run)}  {_measured(run)}"
    doubt = "  (the cluster does not answer)" if run.unknown_since else ""
    again = f"  (attempt {run.attempt})" if run.attempt > 1 else ""
    return values + again + ("  (stopping)" if run.stopping else "") + doubt


def _measured(run: RunView) -> str:
    """Return the newest values: loss and held-out accuracy as the engine has them, or a program's own metrics."""
    if HELDOUT_ACCURACY in run.latest and LOSS in run.latest:
        return f"loss {format_figure(run.latest[LOSS])}  held-out {format_accuracy(run)}"
    return format_values(run)


def _shown(runs: Sequence[RunView]) -> list[RunView]:
    """Return the live runs, running ones first."""
    order = [State.RUNNING, State.PENDING, State.PAUSED, State.SUBMITTING, State.QUEUED]
    live = [run for run in runs if run.state not in ENDED]
    return sorted(live, key=lambda run: order.index(run.state))[:BARS]
