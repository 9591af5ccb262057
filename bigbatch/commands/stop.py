"""`bigbatch stop`: stop experiments or runs."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json
from bigbatch.terminal.output import format_count, print_json
from contract.api.responses import Stopped


def stop(
    numbers: Annotated[list[int], typer.Argument(metavar="ID...", help="Experiments, or runs with --run.")],
    run: Annotated[bool, typer.Option("--run", help="The ids are of runs.")] = False,
    *,
    as_json: Json = False,
) -> None:
    """Request the stop of runs, or of all runs of experiments; ended runs do not change."""
    with Client() as client:
        results = [client.stop_run(one) if run else client.stop_experiment(one) for one in numbers]
    if as_json:
        print_json(
            Stopped(
                stopping=sum(one.stopping for one in results), steps=[name for one in results for name in one.steps]
            )
        )
        return
    for number, result in zip(numbers, results, strict=True):
        if result.steps:
            print(
                f"experiment {number}: cancelled {format_count(len(result.steps), 'step')}: {', '.join(result.steps)}"
            )
        elif not result.stopping:
            print(f"{'run' if run else 'experiment'} {number} has already ended")
    if count := sum(result.stopping for result in results):
        print(f"requested the stop of {format_count(count, 'run')}")
