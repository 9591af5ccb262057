"""`bigbatch export-runs`: the table of runs as CSV, JSON lines or Parquet."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.exports.output import Archived, Form, OfExperiment, Output, Where, format_of, write_output
from bigbatch.commands.run_table.runs import default_columns


def export_runs(
    where: Where = "",
    *,
    column: Annotated[
        list[str] | None, typer.Option(help="A field: batch, optimizer.momentum, mean(loss); repeat it.")
    ] = None,
    sort: Annotated[str, typer.Option(help="Fields, each with - for the reverse order: '-best(loss), batch'.")] = "",
    experiment: OfExperiment = None,
    archived: Archived = False,
    form: Form = None,
    output: Output = None,
) -> None:
    """Write all runs of a query with any fields as columns."""
    chosen = format_of(form, output)
    with Client() as client:
        columns = column or default_columns(client)
        write_output(
            output,
            lambda file: client.export_runs(
                file, where, form=chosen, columns=columns, sort=sort, experiment_id=experiment, archived=archived
            ),
        )
