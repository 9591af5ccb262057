"""`bigbatch runs`: runs of all experiments, filtered by a query and sorted by any field."""

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.commands.run_table.groups import print_groups
from bigbatch.table_client import plain_row
from bigbatch.terminal.csv_output import print_csv
from bigbatch.terminal.output import print_table
from bigbatch.terminal.run_tables import state_text
from contract.api.run_table import Cell

DEFAULT_COLUMNS = ("name", "batch", "optimizer", "step", "loss", "best(heldout_accuracy)", "duration", "tag")


def runs(
    where: Annotated[
        str, typer.Argument(metavar="[WHERE]", help="A query: 'state = failed and batch > 256 and tag = lars'.")
    ] = "",
    *,
    sort: Annotated[str, typer.Option(help="Fields, each with - for the reverse order: '-best(loss), batch'.")] = "",
    column: Annotated[
        list[str] | None, typer.Option(help="A field to show: batch, optimizer.momentum, mean(loss); repeat it.")
    ] = None,
    experiment: Annotated[int | None, typer.Option(metavar="ID", help="Only runs of this experiment.")] = None,
    group_by: Annotated[
        list[str] | None, typer.Option(help="Print groups of equal values of this field, with means; repeat it.")
    ] = None,
    archived: Annotated[bool, typer.Option("--archived", help="The archive, instead of what is not archived.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of runs.")] = 50,
    fields: Annotated[bool, typer.Option("--fields", help="List the names of all fields.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values, for spreadsheets.")] = False,
    as_json: Json = False,
) -> None:
    """List runs of all experiments that match a query, with any fields as columns."""
    with Client() as client:
        if fields:
            _print_fields(client)
            return
        if group_by:
            figures = column or _figures(client)
            groups = client.groups(
                where, by=group_by, figures=figures, sort=sort, experiment_id=experiment, limit=min(limit, 500)
            )
            print_groups(groups, as_json=as_json, as_csv=as_csv)
            return
        columns = column or default_columns(client)
        found = client.table(
            where, columns=columns, sort=sort, experiment_id=experiment, archived=archived, limit=limit
        )
        listed = list(found)
    rows = [plain_row(row, columns) for row in listed]
    if as_json:
        print(json.dumps(rows, indent=2))
    elif as_csv:
        print_csv(["id", "experiment_id", "state", *columns], rows)
    else:
        table = [[str(row.id), state_text(row), *map(_text, row.cells)] for row in listed]
        print_table(["id", "state", *columns], table)


def default_columns(client: Client) -> Sequence[str]:
    """Return the default columns that any run has: another field is an error in a request."""
    names = {one.name for one in client.field_names().names}
    needed = {"best(heldout_accuracy)": "heldout_accuracy", "optimizer": "optimizer.kind"}
    return [name for name in DEFAULT_COLUMNS if needed.get(name, name) in names]


def _figures(client: Client) -> list[str]:
    return [name for name in default_columns(client) if name in ("loss", "best(heldout_accuracy)", "duration")]


def _print_fields(client: Client) -> None:
    found = client.field_names().names
    print_table(("name", "values", ""), [(one.name, one.kind, one.title) for one in found])


def _text(value: Cell) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "-" if value is None else str(value)
