"""`bigbatch stop`: stop experiments or runs."""

from bigbatch.client import Client
from bigbatch.commands.options import Ids, Json, OfRuns, hint_of_runs
from bigbatch.terminal.output import format_count, print_json
from contract.api.responses import Stopped


def stop(numbers: Ids, run: OfRuns = False, *, as_json: Json = False) -> None:
    """Request the stop of all runs of experiments, or with --run of single runs; ended runs do not change."""
    results = []
    with Client() as client:
        for one in numbers:
            with hint_of_runs("stop", one, is_run=run):
                results.append(client.stop_run(one) if run else client.stop_experiment(one))
    if as_json:
        steps = [name for one in results for name in one.steps]
        print_json(Stopped(stopping=sum(one.stopping for one in results), steps=steps))
        return
    for number, result in zip(numbers, results, strict=True):
        _print(number, result, is_run=run)


def _print(number: int, result: Stopped, *, is_run: bool) -> None:
    if result.steps:
        print(f"experiment {number}: cancelled {format_count(len(result.steps), 'step')}: {', '.join(result.steps)}")
    if is_run:
        print(f"run {number}: {'requested its stop' if result.stopping else 'it has already ended'}")
    elif result.stopping:
        print(f"experiment {number}: requested the stop of {format_count(result.stopping, 'run')}")
    elif not result.steps:
        print(f"experiment {number}: it has already ended; for run {number}: bigbatch stop --run {number}")
