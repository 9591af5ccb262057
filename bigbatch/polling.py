"""Following an experiment while it lives, through times in which the service does not answer."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from bigbatch.client import Client
from bigbatch.errors import ApiError, Unreachable
from bigbatch.terminal.message import say
from contract.api.responses import RunView
from contract.lifecycle.state import ENDED

T = TypeVar("T")
Pause = Callable[[float], None]
LOOK_S = 1.0
SILENT_S = 2.0  # between two tries while the service does not answer


def looks(client: Client, experiment_id: int, *, pause: Pause = time.sleep) -> Iterator[list[RunView]]:
    """Yield the experiment's runs, again and again, until all have ended."""
    runs = {run.number: run for run in client.runs(experiment_id)}
    while True:
        yield list(runs.values())
        live = [run.number for run in runs.values() if run.state not in ENDED]
        if not live:
            return
        pause(LOOK_S + len(live) / 1000)  # large sweeps are many pages, so they are looked at less often
        fresh = patiently(partial(_runs_after, client, experiment_id, min(live) - 1), pause)
        runs.update((run.number, run) for run in fresh)


def _runs_after(client: Client, experiment_id: int, number: int) -> list[RunView]:
    return list(client.runs(experiment_id, after=number))


def patiently(ask: Callable[[], T], pause: Pause) -> T:
    """Ask until the service answers; say that it does not, and that it does again."""
    silent = False
    while True:
        try:
            answer = ask()
        except (Unreachable, ApiError) as error:
            if isinstance(error, ApiError) and error.status < 500:
                raise
            if not silent:
                say(f"{error}; still trying")
            silent = True
            pause(SILENT_S)
        else:
            if silent:
                say("the service answers again")
            return answer
