"""The tables of an experiment's runs, and of groups of runs with mean and deviation."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bigbatch.frame import NO_BESTS, Bests
from bigbatch.terminal.output import (
    SHOWN_SERIES,
    Cells,
    best_title,
    format_figure,
    format_metric,
    format_percent,
    format_seconds,
    format_steps,
    own_series,
    shown_series,
)
from contract.api.objective import ShownObjective
from contract.api.responses import RunView
from contract.api.run_table import TableRow
from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.grid.value_text import describe_values
from study.spread import OBJECTIVE, RUN_S, Group, Spread, run_seconds


def run_table(runs: Sequence[RunView], objective: ShownObjective | None = None) -> tuple[Cells, list[Cells]]:
    """Return heads and rows: accuracies, or the series that programs report in their place, and the objective."""
    metrics = _metrics(runs, objective)
    figures = [*(metrics.names or ["last accuracy"]), *([metrics.objective] if metrics.objective else [])]
    rows = [_run_row(run, metrics) for run in runs]
    return ("run", "values", "state", "step", "time", *figures, "reason"), rows


def metric_table(runs: Sequence[RunView], bests: Bests = NO_BESTS) -> tuple[Cells, list[Cells]]:
    """Return heads and rows: the newest and the best value of each metric of each run."""
    rows: list[Cells] = [
        (str(run.id), describe_values(run.values), name, *map(format_figure, (value, bests.get(run.id, {}).get(name))))
        for run in runs
        for name, value in sorted(run.latest.items())
    ]
    return ("run", "values", "metric", "newest", "best"), rows


def hidden_series(runs: Sequence[RunView], objective: ShownObjective | None = None) -> int:
    """Return how many metrics of programs the table of runs leaves out."""
    own = _metrics(runs, objective).names
    names = {name for run in runs for name in own_series(run)}
    return len(names) - len(own) + max((run.more_metrics for run in runs), default=0) if own else 0


def spread_table(groups: Sequence[Group], objective: ShownObjective | None = None) -> tuple[Cells, list[Cells]]:
    """Return heads and rows: of each group how many runs are done, and mean and deviation of its figures."""
    metrics = _metrics([run for group in groups for run in group.runs], objective)
    names = {f"latest.{name}": name for name in metrics.names or [HELDOUT_ACCURACY]}
    names |= {OBJECTIVE: metrics.metric} if metrics.objective else {}
    heads = ("values", "done", *(metrics.names or ["last accuracy"]), *filter(None, [metrics.objective]), "time")
    return heads, [_group_row(group, {**names, RUN_S: RUN_S}) for group in groups]


class _Metrics(NamedTuple):
    """The metrics that a table shows."""

    names: list[str]  # of programs; empty: the last held-out accuracy
    objective: str | None  # the head of its column; None: it has no column of its own
    metric: str  # of the objective


def _metrics(runs: Sequence[RunView], objective: ShownObjective | None) -> _Metrics:
    metric = objective.metric if objective else HELDOUT_ACCURACY
    has_accuracy = any(HELDOUT_ACCURACY in run.latest for run in runs)
    is_engine = metric == HELDOUT_ACCURACY if objective else has_accuracy
    names = [] if is_engine else list(dict.fromkeys(name for run in runs for name in shown_series(run)))
    if metric in names:
        names = [metric, *(name for name in names if name != metric)]
    title = best_title(objective) if objective else "objective"
    if not names:
        return _Metrics([], None if title == "last accuracy" else "best accuracy" if is_engine else title, metric)
    has_column = any(run.objective_value is not None for run in runs) and title != f"last {metric}"
    return _Metrics(names[:SHOWN_SERIES], title if has_column else None, metric)


def _run_row(run: RunView, metrics: _Metrics) -> Cells:
    figures = [format_metric(name, run.latest.get(name)) for name in metrics.names or [HELDOUT_ACCURACY]]
    figures += [format_metric(metrics.metric, run.objective_value)] if metrics.objective else []
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


def _group_row(group: Group, metrics: Mapping[str, str]) -> Cells:
    """Return a row; `metrics`: the metric of each figure."""
    spreads = group.spreads()
    figures = [_format_spread(metric, spreads.get(name)) for name, metric in metrics.items()]
    return (describe_values(group.values) or "all", f"{len(group.done)}/{len(group.runs)}", *figures)


def _format_spread(name: str, spread: Spread | None) -> str:
    if spread is None:
        return "-"
    is_share = name == HELDOUT_ACCURACY and spread.least >= 0 and spread.most <= 1  # a program may log percent
    write = (lambda value: format_percent(value, 2)) if is_share else format_figure
    write = format_seconds if name == RUN_S else write
    return write(spread.mean) + ("" if spread.deviation is None else f" ± {write(spread.deviation)}")
