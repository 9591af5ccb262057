"""`bigbatch retry`: let ended runs go on; `bigbatch resume` is its earlier name."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Ids, Json, OfRuns, hint_of_runs
from bigbatch.lifecycle_client import BOTH, Retried
from bigbatch.terminal.output import format_count, print_json
from contract.api.lifecycle import RetryResult

SHOWN = 10  # runs that did not change


def retry(
    numbers: Ids,
    run: OfRuns = False,
    *,
    failed: Annotated[bool, typer.Option("--failed", help="Only runs that failed.")] = False,
    stopped: Annotated[bool, typer.Option("--stopped", help="Only runs that were stopped.")] = False,
    accept_new_data: Annotated[
        bool, typer.Option("--accept-new-data", help="Also with other data than the checkpoint had (engine).")
    ] = False,
    as_json: Json = False,
) -> None:
    """Let failed and stopped runs of experiments, or with --run single runs, go on from their newest checkpoints."""
    states: Retried = ("failed",) if failed and not stopped else ("cancelled",) if stopped and not failed else BOTH
    with Client() as client:
        ask = client.retry_run if run else client.retry
        results = []
        for one in numbers:
            with hint_of_runs("retry", one, is_run=run):
                results.append(ask(one, states, accept_new_data=accept_new_data))
    if as_json:
        print_json(results)
        return
    for number, result in zip(numbers, results, strict=True):
        _print(f"{'run' if run else 'experiment'} {number}", result)


def _print(what: str, result: RetryResult) -> None:
    print(f"{what}: {format_count(len(result.queued), 'run')} will go on")
    if result.steps:
        print(f"  {format_count(len(result.steps), 'step')} wait again: {', '.join(result.steps)}")
    if result.waiting:
        print(f"  {', '.join(map(str, result.waiting))}: after the end of the last job, which the cluster still has")
    for one in result.unchanged[:SHOWN]:
        print(f"  run {one.id} stays {one.state}: {one.why}")
    if len(result.unchanged) > SHOWN:
        print(f"  and {format_count(len(result.unchanged) - SHOWN, 'further run')} that did not change")
