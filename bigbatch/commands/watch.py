"""`bigbatch watch`: an experiment's progress until it ends, then how each run went."""

import time
from typing import Annotated

import typer
from rich.console import Console

from bigbatch.client import Client
from bigbatch.polling import Pause, looks
from bigbatch.terminal.message import say
from bigbatch.terminal.output import accuracy_of, console, name_of
from bigbatch.terminal.progress import display
from contract.api.responses import RunView
from contract.lifecycle.state import State


def watch(experiment_id: Annotated[int, typer.Argument(metavar="ID", help="The experiment.")]) -> None:
    """Show an experiment's progress until it ends; exit 0 if every run is done, 1 otherwise."""
    with Client() as client:
        try:
            went_well = watch_to_end(client, experiment_id, console())
        except KeyboardInterrupt:
            say(f"the experiment goes on: bigbatch watch {experiment_id}")
            raise
    raise typer.Exit(0 if went_well else 1)


def watch_to_end(client: Client, experiment_id: int, out: Console, *, pause: Pause = time.sleep) -> bool:
    """Show progress on `out` until the experiment ends, then every run's outcome; True if all are done."""
    runs: list[RunView] = []
    with display(out) as show:
        for runs in looks(client, experiment_id, pause=pause):
            show(runs)
    for run in runs:
        out.print(_outcome(run), soft_wrap=True)
    return all(run.state is State.DONE for run in runs)


def _outcome(run: RunView) -> str:
    accuracy = f"held-out accuracy {accuracy_of(run)}"
    if run.state is State.DONE:
        return f"{name_of(run)}: {accuracy}"
    reason = run.reason or "no reason given"
    return f"{name_of(run)}: {run.state} at step {run.step} of {run.steps}: {reason} ({accuracy})"
