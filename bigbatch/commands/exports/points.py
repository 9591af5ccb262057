"""`bigbatch export-points`: every point of any runs as CSV, JSON lines or Parquet."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.exports.output import Archived, Form, OfExperiment, Output, Where, format_of, write_output


def export_points(
    where: Where = "",
    *,
    run: Annotated[list[int] | None, typer.Option(metavar="ID", help="Only this run; repeat it.")] = None,
    experiment: OfExperiment = None,
    name: Annotated[list[str] | None, typer.Option(help="Only this series; repeat it.")] = None,
    first: Annotated[int, typer.Option("--from", min=0, help="First step.")] = 0,
    last: Annotated[int | None, typer.Option("--to", min=0, help="Last step.")] = None,
    archived: Archived = False,
    form: Form = None,
    output: Output = None,
) -> None:
    """Write every point of the runs of a query: run, series, step, value."""
    chosen = format_of(form, output)
    with Client() as client:
        write_output(
            output,
            lambda file: client.export_points(
                file,
                where,
                form=chosen,
                run_ids=run or [],
                names=name or [],
                experiment_id=experiment,
                first=first,
                last=last,
                archived=archived,
            ),
        )
