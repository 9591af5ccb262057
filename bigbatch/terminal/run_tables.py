"""The tables of an experiment's runs, and of groups of runs with mean and deviation."""

from collections.abc import Sequence

from bigbatch.frame import NO_BESTS, Bests
from bigbatch.terminal.output import (
    SHOWN_SERIES,
    Cells,
    format_accuracy,
    format_figure,
    format_metric,
    format_percent,
    format_seconds,
    format_steps,
    own_series,
    shown_series,
)
from contract.api.responses import RunView
from contract.api.run_table import TableRow
from contract.metric_direction import key_metric
from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.grid.value_text import describe_values
from study.spread import BEST_ACCURACY, RUN_S, Group, Spread, run_seconds


def run_table(runs: Sequence[RunView], bests: Bests = NO_BESTS) -> tuple[Cells, list[Cells]]:
    """Return heads and rows: accuracies, or the series that programs report in their place, and the best of one."""
    own, every = _own_names(runs), dict.fromkeys(name for one in bests.values() for name in one)
    key = key_metric(every) if own else None
    figures = [*(own or ["last accuracy", "best accuracy"]), *([f"best {key}"] if key else [])]
    rows = [_run_row(run, own, [bests.get(run.id, {}).get(key)] if key else []) for run in runs]
    return ("run", "values", "state", "step", "time", *figures, "reason"), rows


def metric_table(runs: Sequence[RunView], bests: Bests = NO_BESTS) -> tuple[Cells, list[Cells]]:
    """Return heads and rows: the newest and the best value of each metric of each run."""
    rows: list[Cells] = [
        (str(run.id), describe_values(run.values), name, *map(format_figure, (value, bests.get(run.id, {}).get(name))))
        for run in runs
        for name, value in sorted(run.latest.items())
    ]
    return ("run", "values", "metric", "newest", "best"), rows


def hidden_series(runs: Sequence[RunView]) -> int:
    """Return how many metrics of programs the table of runs leaves out."""
    own = _own_names(runs)
    names = {name for run in runs for name in own_series(run)}
    return len(names) - len(own) + max((run.more_metrics for run in runs), default=0) if own else 0


def spread_table(groups: Sequence[Group]) -> tuple[Cells, list[Cells]]:
    """Return heads and rows: of each group how many runs are done, and mean and deviation of its figures."""
    own = _own_names([run for group in groups for run in group.runs])
    names = [f"latest.{name}" for name in own] if own else [f"latest.{HELDOUT_ACCURACY}", BEST_ACCURACY]
    heads = ("values", "done", *(own or ["last accuracy", "best accuracy"]), "time")
    return heads, [_group_row(group, [*names, RUN_S]) for group in groups]


def _own_names(runs: Sequence[RunView]) -> list[str]:
    """Return the series to show of programs; none if a run reports accuracies as the engine does, or nothing."""
    if any(run.best_accuracy is not None or HELDOUT_ACCURACY in run.latest for run in runs):
        return []
    return list(dict.fromkeys(name for run in runs for name in shown_series(run)))[:SHOWN_SERIES]


def _run_row(run: RunView, own: Sequence[str], best: Sequence[float | None]) -> Cells:
    figures = [format_figure(value) for value in (*(run.latest.get(name) for name in own), *best)]
    figures = figures or [format_accuracy(run), format_metric(HELDOUT_ACCURACY, run.best_accuracy)]
    seconds = format_seconds(run_seconds(run))
    begin = (str(run.id), describe_values(run.values), state_text(run), format_steps(run), seconds)
    return (*begin, *figures, reason_text(run))


def state_text(run: RunView | TableRow) -> str:
    """Return the state of a run, with a word where it diverged."""
    return f"{run.state}, diverged" if run.diverged else str(run.state)


def reason_text(run: RunView | TableRow) -> str:
    """Return why a run is in its state, after where it diverged."""
    where = run.diverged.sentence if run.diverged else None
    return "; ".join(filter(None, [where, run.reason]))


def _group_row(group: Group, names: Sequence[str]) -> Cells:
    spreads = group.spreads()
    figures = [_format_spread(name, spreads.get(name)) for name in names]
    return (describe_values(group.values) or "all", f"{len(group.done)}/{len(group.runs)}", *figures)


def _format_spread(name: str, spread: Spread | None) -> str:
    if spread is None:
        return "-"
    is_share = name in (BEST_ACCURACY, f"latest.{HELDOUT_ACCURACY}")
    is_share = is_share and spread.least >= 0 and spread.most <= 1  # a program may log percent
    write = (lambda value: format_percent(value, 2)) if is_share else format_figure
    write = format_seconds if name == RUN_S else write
    return write(spread.mean) + ("" if spread.deviation is None else f" ± {write(spread.deviation)}")
