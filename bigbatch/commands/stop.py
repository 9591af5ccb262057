"""`bigbatch stop`: stop an experiment or a run."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.terminal.output import format_count, print_json


def stop(
    number: Annotated[int, typer.Argument(metavar="ID", help="Id of the experiment, or of the run with --run.")],
    run: Annotated[bool, typer.Option("--run", help="ID is the id of a run.")] = False,
    *,
    as_json: Json = False,
) -> None:
    """Request the stop of one run, or of all runs of an experiment; ended runs do not change."""
    with Client() as client:
        stopped = client.stop_run(number) if run else client.stop_experiment(number)
    if as_json:
        print_json(stopped)
    elif stopped.stopping:
        print(f"requested the stop of {format_count(stopped.stopping, 'run')}")
    else:
        print(f"{'run' if run else 'experiment'} {number} has already ended")
