"""`bigbatch list`, `search` and `show`: list experiments, or the runs of one experiment."""

import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.errors import BigbatchError
from bigbatch.frame import NO_BESTS, Bests, by_value, metrics_of, order_runs, rows_of, rows_of_groups
from bigbatch.terminal.csv_output import print_csv
from bigbatch.terminal.output import (
    format_age,
    format_count,
    format_metric,
    format_percent,
    print_json,
    print_table,
    print_text,
)
from bigbatch.terminal.run_tables import hidden_series, metric_table, run_table, spread_table
from bigbatch.terminal.step_table import step_table
from contract.api.list_sort import ExperimentSort
from contract.api.objective import ShownObjective
from contract.api.responses import ExperimentView, RunView
from contract.lifecycle.state import ENDED, State
from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.grid.value_text import PARAMETERS
from study.spread import Group, group_runs, repeated_field


class ListSort(StrEnum):
    """The orders of a list of experiments: those of the service, and the objective, by which this command sorts."""

    ID = "id"
    NEWEST = "-id"
    NAME = "name"
    NAME_REVERSED = "-name"
    OBJECTIVE = "objective"
    OBJECTIVE_REVERSED = "-objective"
    ACCURACY = "accuracy"  # the earlier name of `objective`
    ACCURACY_REVERSED = "-accuracy"


Limit = Annotated[int, typer.Option(min=1, help="Maximum number of items.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print comma-separated values, for spreadsheets.")]
Tag = Annotated[str | None, typer.Option(help="Only experiments with this tag.")]
Owner = Annotated[str | None, typer.Option(help="Only experiments of this owner.")]
Project = Annotated[str | None, typer.Option(help="Only experiments of this project.")]
Archived = Annotated[bool, typer.Option("--archived", help="The archive, instead of what is not archived.")]


def list_experiments(
    limit: Limit = 20,
    state: Annotated[State | None, typer.Option(help="Only experiments in this state.")] = None,
    *,
    sort: Annotated[
        ListSort, typer.Option(help="Order of the list; - reverses it; objective: the best first, by metric.")
    ] = ListSort.NEWEST,
    tag: Tag = None,
    owner: Owner = None,
    project: Project = None,
    archived: Archived = False,
    as_csv: Csv = False,
    as_json: Json = False,
) -> None:
    """List experiments, newest first."""
    where = _labels(tag=tag, owner=owner, project=project, archived="true" if archived else None)
    _print_experiments(_find(where, limit, state, sort), as_csv=as_csv, as_json=as_json)


def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="A part of a name, description, note, tag or owner.")],
    limit: Limit = 20,
    *,
    runs: Annotated[
        bool, typer.Option("--runs", help="List runs with TEXT in a label, the reason or the spec.")
    ] = False,
    archived: Archived = False,
    as_csv: Csv = False,
    as_json: Json = False,
) -> None:
    """List experiments with TEXT in the name, the description, the notes, a tag, the owner or the project."""
    where = _labels(q=text, archived="true" if archived else None)
    if runs:
        with Client() as client:
            _print_runs(list(client.find_runs(where, limit)), as_csv=as_csv, as_json=as_json)
        return
    _print_experiments(_find(where, limit, None, ListSort.NEWEST), as_csv=as_csv, as_json=as_json)


def show(
    experiment_id: Annotated[int, typer.Argument(metavar="ID", help="The experiment.")],
    state: Annotated[State | None, typer.Option(help="Only runs in this state.")] = None,
    *,
    step: Annotated[str | None, typer.Option(metavar="NAME", help="Only runs of this step of a workflow.")] = None,
    sort: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Order: a field, a parameter, a metric or best(METRIC); - reverses it; objective: the best first.",
        ),
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="Show mean and deviation over the runs that differ in FIELD alone: seed."),
    ] = None,
    metrics: Annotated[bool, typer.Option("--metrics", help="Show the newest value of every metric.")] = False,
    as_csv: Csv = False,
    as_json: Json = False,
) -> None:
    """Show the steps and runs of one experiment, and mean and deviation over its seeds."""
    with Client() as client:
        found = list(client.runs(experiment_id, state=state, step=step))
        is_workflow = any(run.step_id is not None for run in found)
        graph = client.steps(experiment_id) if is_workflow and not (as_csv or as_json) else None
        is_needed = not over and (sort or not as_json)
        bests = client.best_values(experiment_id, metrics_of(found)) if is_needed else NO_BESTS
        objective = client.experiment(experiment_id).objective if sort or not (as_json or as_csv) else None
    if sort is not None:
        found = _ordered(found, sort, bests, objective)
    if graph:
        print_table(*step_table(graph))
        print()
    if over is not None:
        _show_groups(_groups(found, over), objective, as_csv=as_csv, as_json=as_json)
    elif as_csv or as_json:
        _print_runs(found, bests, as_csv=as_csv, as_json=as_json)
    elif metrics:
        print_table(*metric_table(found, bests))
        _print_more(found)
    else:
        print_table(*run_table(found, objective))
        _print_below(experiment_id, found, objective)


def _print_below(experiment_id: int, found: Sequence[RunView], objective: ShownObjective | None) -> None:
    """Print what the table of runs does not say: notes, how many metrics it leaves out, and means over seeds."""
    for run in found:
        if run.unread is not None:
            print_text(f"run {run.id}: {run.unread.sentence}")
    if hidden := hidden_series(found, objective):
        print_text(f"{format_count(hidden, 'more metric')}: bigbatch show {experiment_id} --metrics")
    if repeated := repeated_field(found):
        print_text(f"\nmean ± deviation over {repeated.removeprefix(PARAMETERS)}, of runs that are done:")
        print_table(*spread_table(group_runs(found, repeated), objective))


def _ordered(found: Sequence[RunView], order: str, bests: Bests, objective: ShownObjective | None) -> list[RunView]:
    try:
        return order_runs(found, order, bests, objective)
    except ValueError as error:
        raise BigbatchError(f"--sort: {error}") from error


def _print_runs(found: Sequence[RunView], bests: Bests = NO_BESTS, *, as_csv: bool, as_json: bool) -> None:
    if as_csv:
        _print_csv(rows_of(found, bests))
    elif as_json:
        print_json(found)
    else:
        print_table(*run_table(found))


def _print_more(found: Sequence[RunView]) -> None:
    for run in found:
        if run.more_metrics:
            others = format_count(run.more_metrics, "further metric")
            print_text(f"run {run.id} has {others}: bigbatch runs --column NAME, or its page")


def _groups(found: Sequence[RunView], over: str) -> list[Group]:
    try:
        return group_runs(found, over)
    except ValueError as error:
        raise BigbatchError(f"--over: {error}") from error


def _show_groups(groups: Sequence[Group], objective: ShownObjective | None, *, as_csv: bool, as_json: bool) -> None:
    if as_csv:
        _print_csv(rows_of_groups(groups))
    elif as_json:
        print(json.dumps(rows_of_groups(groups), indent=2))
    else:
        print_table(*spread_table(groups, objective))


def _find(where: dict[str, str], limit: int, state: State | None, sort: ListSort) -> list[ExperimentView]:
    with Client() as client:
        if sort.removeprefix("-") not in (ListSort.OBJECTIVE, ListSort.ACCURACY):
            return list(client.experiments(limit=limit, state=state, sort=ExperimentSort(sort), where=where))
        found = list(client.experiments(state=state, where=where))
    return _by_objective(found, best_first=not sort.startswith("-"))[:limit]


def _by_objective(found: Sequence[ExperimentView], *, best_first: bool) -> list[ExperimentView]:
    """Return experiments by the best values of their objectives, those of one metric together; without a value last."""
    metrics = sorted({one.objective.metric for one in found if one.objective and one.best})
    ordered: list[ExperimentView] = []
    for metric in metrics:
        for goal in ("max", "min"):
            mine = [one for one in found if one.best and one.objective and _is_of(one.objective, metric, goal)]
            values = [one.best and one.best.value for one in mine]
            ordered += by_value(mine, values, is_descending=best_first is (goal == "max"))
    return [*ordered, *(one for one in found if not (one.objective and one.best))]


def _is_of(objective: ShownObjective, metric: str, goal: str) -> bool:
    return (objective.metric, objective.goal) == (metric, goal)


def _labels(**labels: str | None) -> dict[str, str]:
    return {name: value for name, value in labels.items() if value is not None}


def _print_experiments(found: Sequence[ExperimentView], *, as_csv: bool, as_json: bool) -> None:
    if as_csv:
        _print_csv(_experiment_fields(one) for one in found)
    elif as_json:
        print_json(found)
    else:
        is_accuracy = all(one.objective is None or one.objective.metric == HELDOUT_ACCURACY for one in found)
        best = "best accuracy" if is_accuracy else "best"
        heads = ("id", "name", "state", "progress", "runs", best, "tags", "age")
        print_table(heads, [_experiment_row(one) for one in found])


def _experiment_fields(one: ExperimentView) -> dict[str, object]:
    counts = {f"runs.{state}": one.counts.get(state, 0) for state in State}
    return (
        one.model_dump(mode="json", exclude={"counts", "tags", "objective", "best"})
        | _best_fields(one)
        | counts
        | {"tags": " ".join(one.tags)}
    )


def _best_fields(one: ExperimentView) -> dict[str, object]:
    objective, best = one.objective, one.best
    return {
        "objective.metric": objective and objective.metric,
        "objective.goal": objective and objective.goal,
        "objective.value": objective and objective.value,
        "best.value": best and best.value,
        "best.run": best and best.run,
    }


def _experiment_row(one: ExperimentView) -> tuple[str, ...]:
    # the steps of a program may be unknown
    ended = sum(one.counts.get(state, 0) for state in ENDED)
    progress = format_percent(one.progress) if one.steps else f"{ended}/{one.runs} ended"
    figures = (progress, str(one.runs), _best_text(one))
    state = f"{one.state}, {one.diverged} diverged" if one.diverged else one.state
    return (str(one.id), one.name, state, *figures, " ".join(one.tags), format_age(one.created_at))


def _best_text(one: ExperimentView) -> str:
    """Return the best accuracy, else the best value of the objective with the name of its metric."""
    if one.objective is None or one.best is None:
        return "-"
    text = format_metric(one.objective.metric, one.best.value)
    return text if one.objective.metric == HELDOUT_ACCURACY else f"{text} {one.objective.metric}"


def _print_csv(rows: Iterable[dict[str, object]]) -> None:
    """Print rows with a line of heads: every field that any row has."""
    listed = list(rows)
    heads = list(dict.fromkeys(name for row in listed for name in row))
    print_csv(heads, listed)
