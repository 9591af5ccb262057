"""`bigbatch rerun`: carry a run or an experiment out again, with the same spec and the same code."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.lifecycle.repeat import print_created
from bigbatch.commands.options import FromStep, Json
from bigbatch.commands.watch import watch_unless_interrupted
from bigbatch.terminal.output import make_console


def rerun(
    number: Annotated[int, typer.Argument(metavar="RUN", help="The run to carry out again.")],
    watch: Annotated[bool, typer.Option("--watch", help="Show progress until the experiment ends.")] = False,
    *,
    is_experiment: Annotated[bool, typer.Option("--experiment", help="RUN is the id of an experiment.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Submit also if the cluster's report contradicts the resources.")
    ] = False,
    from_step: FromStep = None,
    as_json: Json = False,
) -> None:
    """Carry RUN out again as a new experiment: the same spec, seed and code snapshot, from the first step on."""
    if from_step is not None and not is_experiment:
        raise typer.BadParameter("a run has no steps; name the experiment with --experiment", param_hint="--from")
    with Client() as client:
        if is_experiment:
            created = client.rerun_experiment(number, force=force, from_step=from_step)
        else:
            created = client.rerun(number, force=force)
        print_created(client, created, as_json=as_json)
        if watch and not watch_unless_interrupted(client, created.id, make_console(stderr=as_json)):
            raise typer.Exit(1)
