"""`bigbatch watch`: show an experiment's progress until it ends, then each run's result."""

import time
from typing import Annotated

import typer
from rich.console import Console

from bigbatch.client import Client
from bigbatch.commands.sweep.sweep import sweep_line
from bigbatch.polling import Pause, poll_runs
from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import format_result, format_steps, make_console, run_name
from bigbatch.terminal.progress import show_progress
from contract.api.responses import RunView
from contract.lifecycle.state import State


def watch(experiment_id: Annotated[int, typer.Argument(metavar="ID", help="The experiment.")]) -> None:
    """Show an experiment's progress until it ends; exit with 0 if every run is done, else with 1."""
    with Client() as client:
        succeeded = watch_unless_interrupted(client, experiment_id, make_console())
    raise typer.Exit(0 if succeeded else 1)


def watch_unless_interrupted(client: Client, experiment_id: int, out: Console) -> bool:
    """Watch as `watch_to_end`; Ctrl-C prints that the runs continue, and how to watch or stop them."""
    try:
        return watch_to_end(client, experiment_id, out)
    except KeyboardInterrupt:
        print_message(
            f"the runs of experiment {experiment_id} continue; watch them again with: bigbatch watch {experiment_id}; "
            f"stop them with: bigbatch stop {experiment_id}"
        )
        raise


def watch_to_end(client: Client, experiment_id: int, out: Console, *, pause: Pause = time.sleep) -> bool:
    """Show progress on `out` until the experiment ends, then every run's result; return whether all runs are done.

    Of a search the result is its best trial, and it is done when it ended by itself.
    """
    runs: list[RunView] = []
    is_search = getattr(client.experiment(experiment_id).spec, "search", None) is not None
    with show_progress(out) as show:
        for runs in poll_runs(client, experiment_id, is_search=is_search, pause=pause):
            show(runs)
    for run in runs:
        out.print(_outcome(run), soft_wrap=True)
    if is_search:
        out.print(sweep_line(client.search(experiment_id)), soft_wrap=True)
        return client.experiment(experiment_id).state is State.DONE
    return all(run.state is State.DONE for run in runs)


def _outcome(run: RunView) -> str:
    result = format_result(run)
    if run.state is State.DONE:
        return f"{run_name(run)}: {result}"
    reason = run.reason or "no reason reported"
    return f"{run_name(run)}: {run.state} at step {format_steps(run, ' of ')}: {reason} ({result})"
