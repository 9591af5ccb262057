"""`bigbatch list` and `bigbatch show`: list experiments, or the runs of one experiment."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.terminal.output import format_accuracy, format_age, format_percent, format_values, print_json, print_table
from contract.api.list_sort import ExperimentSort
from contract.lifecycle.state import State


def list_experiments(
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of experiments.")] = 20,
    state: Annotated[State | None, typer.Option(help="Only experiments in this state.")] = None,
    sort: Annotated[ExperimentSort, typer.Option(help="Order of the list; - reverses it.")] = ExperimentSort.NEWEST,
    as_json: Json = False,
) -> None:
    """List experiments, newest first."""
    with Client() as client:
        found = list(client.experiments(limit=limit, state=state, sort=sort))
    if as_json:
        print_json(found)
        return
    rows = [
        (
            str(e.id),
            e.name,
            e.state,
            format_percent(e.progress),
            str(e.runs),
            format_percent(e.best_accuracy, 2),
            format_age(e.created_at),
        )
        for e in found
    ]
    print_table(("id", "name", "state", "progress", "runs", "best accuracy", "age"), rows)


def show(
    experiment_id: Annotated[int, typer.Argument(metavar="ID", help="The experiment.")],
    state: Annotated[State | None, typer.Option(help="Only runs in this state.")] = None,
    as_json: Json = False,
) -> None:
    """Show the runs of one experiment."""
    with Client() as client:
        found = list(client.runs(experiment_id, state=state))
    if as_json:
        print_json(found)
        return
    rows = [
        (
            str(run.id),
            format_values(run.values),
            run.state,
            f"{run.step}/{run.steps}",
            format_accuracy(run),
            format_percent(run.best_accuracy, 2),
            run.reason or "",
        )
        for run in found
    ]
    print_table(("run", "values", "state", "step", "last accuracy", "best accuracy", "reason"), rows)
