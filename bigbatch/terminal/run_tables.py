"""The tables of an experiment's runs, and of groups of runs with mean and deviation."""

from collections.abc import Sequence

from bigbatch.terminal.output import (
    Cells,
    format_accuracy,
    format_figure,
    format_percent,
    format_seconds,
    format_steps,
    own_series,
)
from contract.api.responses import RunView
from contract.api.run_table import TableRow
from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.grid.value_text import describe_values
from study.spread import BEST_ACCURACY, RUN_S, Group, Spread, run_seconds

SHOWN_SERIES = 3  # of a program


def run_table(runs: Sequence[RunView]) -> tuple[Cells, list[Cells]]:
    """Return heads and rows: accuracies, or the series that programs report in their place."""
    own = _own_names(runs)
    figures = own or ["last accuracy", "best accuracy"]
    rows = [_run_row(run, own) for run in runs]
    return ("run", "values", "state", "step", "time", *figures, "reason"), rows


def spread_table(groups: Sequence[Group]) -> tuple[Cells, list[Cells]]:
    """Return heads and rows: of each group how many runs are done, and mean and deviation of its figures."""
    own = _own_names([run for group in groups for run in group.runs])
    names = [f"latest.{name}" for name in own] if own else [f"latest.{HELDOUT_ACCURACY}", BEST_ACCURACY]
    heads = ("values", "done", *(own or ["last accuracy", "best accuracy"]), "time")
    return heads, [_group_row(group, [*names, RUN_S]) for group in groups]


def _own_names(runs: Sequence[RunView]) -> list[str]:
    """Return the series to show of programs; none if a run reports accuracies as the engine does, or nothing."""
    if any(HELDOUT_ACCURACY in run.latest for run in runs):
        return []
    return list(dict.fromkeys(name for run in runs for name in own_series(run)))[:SHOWN_SERIES]


def _run_row(run: RunView, own: Sequence[str]) -> Cells:
    figures = [format_figure(run.latest.get(name)) for name in own]
    figures = figures or [format_accuracy(run), format_percent(run.best_accuracy, 2)]
    seconds = format_seconds(run_seconds(run))
    begin = (str(run.id), describe_values(run.values), state_text(run), format_steps(run), seconds)
    return (*begin, *figures, reason_text(run))


def state_text(run: RunView | TableRow) -> str:
    """Return the state of a run, with a word where it diverged."""
    return f"{run.state}, diverged" if run.diverged else str(run.state)


def reason_text(run: RunView | TableRow) -> str:
    """Return why a run is in its state, after where it diverged."""
    return "; ".join(filter(None, [run.diverged and run.diverged.sentence, run.reason]))


def _group_row(group: Group, names: Sequence[str]) -> Cells:
    spreads = group.spreads()
    figures = [_format_spread(name, spreads.get(name)) for name in names]
    return (describe_values(group.values) or "all", f"{len(group.done)}/{len(group.runs)}", *figures)


def _format_spread(name: str, spread: Spread | None) -> str:
    if spread is None:
        return "-"
    is_share = name in (BEST_ACCURACY, f"latest.{HELDOUT_ACCURACY}")
    write = (lambda value: format_percent(value, 2)) if is_share else format_figure
    write = format_seconds if name == RUN_S else write
    return write(spread.mean) + ("" if spread.deviation is None else f" ± {write(spread.deviation)}")
