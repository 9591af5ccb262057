"""`bigbatch logs`: print the log of a run, and follow it while the run lasts."""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.polling import POLL_INTERVAL_S, retry_until_answered
from bigbatch.terminal.control_characters import show_control_characters
from contract.lifecycle.state import ENDED


def logs(
    run_id: Annotated[int, typer.Argument(help="The run.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Continue until the run ends.")] = False,
    *,
    raw: Annotated[bool, typer.Option("--raw", help="Print control characters unchanged, also to a terminal.")] = False,
) -> None:
    """Print the log of a run. In a terminal, control characters are shown as text (^[ for an escape)."""
    show = str if raw or not sys.stdout.isatty() else show_control_characters
    with Client() as client:
        client.run(run_id)  # raises if the service does not answer at first; later errors are retried
        offset = _print_rest(client, run_id, 0, show)
        ended = not follow
        while not ended:
            # Query the state before the log: the log of an ended run is then complete.
            ended = retry_until_answered(partial(client.run, run_id), time.sleep).state in ENDED
            offset = _print_rest(client, run_id, offset, show)
            if not ended:
                time.sleep(POLL_INTERVAL_S)


def _print_rest(client: Client, run_id: int, offset: int, show: Callable[[str], str]) -> int:
    """Print the log from `offset` to its end; return the offset of the end."""
    while True:
        part = retry_until_answered(partial(client.log, run_id, offset), time.sleep)
        sys.stdout.write(show(part.text))
        sys.stdout.flush()
        offset = part.next
        if not part.text or part.next >= part.size:
            return offset
