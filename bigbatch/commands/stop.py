"""`bigbatch stop`: ask that an experiment or a run end."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.submit import Json
from bigbatch.terminal.output import counted, print_json


def stop(
    number: Annotated[int, typer.Argument(metavar="ID", help="The experiment, or with --run the run.")],
    run: Annotated[bool, typer.Option("--run", help="ID is a run's.")] = False,
    *,
    as_json: Json = False,
) -> None:
    """Ask that every run of an experiment stop, or one run; what has ended stays as it is."""
    with Client() as client:
        stopped = client.stop_run(number) if run else client.stop_experiment(number)
    if as_json:
        print_json(stopped)
    elif stopped.stopping:
        print(f"asked {counted(stopped.stopping, 'run')} to stop")
    else:
        print(f"{'run' if run else 'experiment'} {number} had ended already")
