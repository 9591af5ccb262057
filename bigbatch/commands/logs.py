"""`bigbatch logs`: what a run printed, from its beginning, and on while it lives."""

import sys
import time
from functools import partial
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.polling import LOOK_S, patiently
from contract.lifecycle.state import ENDED


def logs(
    run_id: Annotated[int, typer.Argument(help="The run.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run ends.")] = False,
) -> None:
    """Print the log of a run."""
    with Client() as client:
        client.run(run_id)  # a service that is not there from the beginning is not waited for
        offset = _print_rest(client, run_id, 0)
        ended = not follow
        while not ended:
            # asked before the log is read: what an ended run wrote is then all there
            ended = patiently(partial(client.run, run_id), time.sleep).state in ENDED
            offset = _print_rest(client, run_id, offset)
            if not ended:
                time.sleep(LOOK_S)


def _print_rest(client: Client, run_id: int, offset: int) -> int:
    """Print the log from `offset` to its end; return where that is."""
    while True:
        part = patiently(partial(client.log, run_id, offset), time.sleep)
        sys.stdout.write(part.text)
        sys.stdout.flush()
        offset = part.next
        if not part.text or part.next >= part.size:
            return offset
