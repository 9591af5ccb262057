"""Polling of an experiment's runs until they end, with retries while the service does not answer."""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from bigbatch.client import Client
from bigbatch.errors import ApiError, Unreachable
from bigbatch.terminal.message import print_message
from contract.api.responses import RunView
from contract.lifecycle.state import ENDED

T = TypeVar("T")
Pause = Callable[[float], None]
POLL_INTERVAL_S = 1.0
RETRY_INTERVAL_S = 2.0  # between two requests while the service does not answer


def poll_runs(
    client: Client, experiment_id: int, *, is_search: bool = False, pause: Pause = time.sleep
) -> Iterator[list[RunView]]:
    """Yield the experiment's runs repeatedly, until all runs, all steps and its search have ended."""
    runs = {run.number: run for run in client.runs(experiment_id)}
    while True:
        yield list(runs.values())
        live = [run.number for run in runs.values() if run.state not in ENDED]
        may_follow = _goes_on if is_search else partial(_has_open_steps, runs=runs.values())
        if not live and not may_follow(client, experiment_id, pause=pause):
            return
        pause(POLL_INTERVAL_S + len(live) / 1000)  # a large experiment has many pages, so it is polled less often
        # a search lets any stopped run go on; its runs are few
        after = -1 if is_search else min(live, default=len(runs)) - 1
        fresh = retry_until_answered(partial(_runs_after, client, experiment_id, after), pause)
        runs.update((run.number, run) for run in fresh)


def _goes_on(client: Client, experiment_id: int, *, pause: Pause) -> bool:
    """Return whether a search may still get runs."""
    return retry_until_answered(lambda: client.experiment(experiment_id), pause).state not in ENDED


def _has_open_steps(client: Client, experiment_id: int, *, runs: Iterable[RunView], pause: Pause) -> bool:
    """Return whether a step of the workflow may still get runs; only runs of workflows have a step."""
    if all(run.step_id is None for run in runs):
        return False
    return retry_until_answered(lambda: client.experiment(experiment_id), pause).open_steps > 0


def _runs_after(client: Client, experiment_id: int, number: int) -> list[RunView]:
    return list(client.runs(experiment_id, after=number))


def retry_until_answered(ask: Callable[[], T], pause: Pause) -> T:
    """Repeat the request until the service answers; print a message before and after an outage."""
    is_down = False
    while True:
        try:
            answer = ask()
        except (Unreachable, ApiError) as error:
            if isinstance(error, ApiError) and error.status < 500:
                raise
            if not is_down:
                print_message(f"{error}; retrying")
            is_down = True
            pause(RETRY_INTERVAL_S)
        else:
            if is_down:
                print_message("the service answers again")
            return answer
