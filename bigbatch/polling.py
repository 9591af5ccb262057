"""Polling of an experiment's runs until they end, with retries while the service does not answer."""

import time
from collections.abc import Callable, Iterator
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


def poll_runs(client: Client, experiment_id: int, *, pause: Pause = time.sleep) -> Iterator[list[RunView]]:
    """Yield the experiment's runs repeatedly, until all runs have ended."""
    runs = {run.number: run for run in client.runs(experiment_id)}
    while True:
        yield list(runs.values())
        live = [run.number for run in runs.values() if run.state not in ENDED]
        if not live:
            return
        pause(POLL_INTERVAL_S + len(live) / 1000)  # a large experiment has many pages, so it is polled less often
        fresh = retry_until_answered(partial(_runs_after, client, experiment_id, min(live) - 1), pause)
        runs.update((run.number, run) for run in fresh)


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
