"""`bigbatch watch`: show an experiment's progress until it ends, then each run's result."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Annotated

import typer
from rich.console import Console

from bigbatch.client import Client
from bigbatch.commands.sweep import sweep_line
from bigbatch.errors import ApiError, Unreachable
from bigbatch.polling import Pause, poll_runs
from bigbatch.terminal.message import print_message
from bigbatch.terminal.output import format_result, format_steps, make_console, run_name
from bigbatch.terminal.progress import show_progress
from contract.api.objective import ShownObjective
from contract.api.responses import RunView
from contract.lifecycle.state import LIVE, State

ASK_AGAIN_S = 5.0  # for what a queued run waits for


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
    behind, noted = QueueReason(client), 0
    with show_progress(out) as show:
        for runs in poll_runs(client, experiment_id, is_search=is_search, pause=pause):
            show(behind.add_to(runs))
            noted = noted or _print_note(out, runs)
    objective = client.experiment(experiment_id).objective
    for run in runs:
        out.print(_outcome(run, objective), soft_wrap=True)
        if run.id != noted:
            _print_note(out, [run])
    if is_search:
        out.print(sweep_line(client.search(experiment_id)), soft_wrap=True)
        return client.experiment(experiment_id).state is State.DONE
    return all(run.state is State.DONE for run in runs)


def _print_note(out: Console, runs: Sequence[RunView]) -> int:
    """Print the first note on what the service does not read of a run; return the run's id, 0 without a note.

    The other runs of a sweep have the same note, so theirs wait for the end.
    """
    for run in runs:
        if run.unread is not None:
            out.print(f"{run_name(run)}: {run.unread.sentence}", soft_wrap=True, markup=False)
            return run.id
    return 0


class QueueReason:
    """What a run waits for while no run of its experiment goes on: which other runs have the ranks.

    Only the page of one run has this sentence, so it is asked for one run, and not at every look.
    """

    def __init__(self, client: Client, *, now: Callable[[], float] = time.monotonic) -> None:
        self._client, self._now = client, now
        self._run_id = 0
        self._reason: str | None = None
        self._asked_at = float("-inf")

    def add_to(self, runs: Sequence[RunView]) -> list[RunView]:
        """Return the runs; the first queued one without a reason has one, if no run goes on."""
        first = next((run for run in runs if run.state is State.QUEUED and not run.reason), None)
        if first is None or any(run.state in LIVE for run in runs):
            return list(runs)
        if first.id != self._run_id or self._now() - self._asked_at >= ASK_AGAIN_S:
            self._run_id, self._asked_at = first.id, self._now()
            with suppress(Unreachable, ApiError):  # the next look says that the service does not answer
                self._reason = self._client.run(first.id).reason
        return [run.model_copy(update={"reason": self._reason}) if run is first else run for run in runs]


def _outcome(run: RunView, objective: ShownObjective | None) -> str:
    result = format_result(run, objective)
    if run.state is State.DONE:
        return f"{run_name(run)}: done: {result}"
    reason = run.reason or "no reason reported"
    return f"{run_name(run)}: {run.state} at step {format_steps(run, ' of ')}: {reason} ({result})"
