"""`bigbatch logs`: print the log of a run, and follow it while the run lasts."""

import time
from functools import partial
from typing import Annotated, TextIO

import typer

from bigbatch.client import Client
from bigbatch.polling import POLL_INTERVAL_S, retry_until_answered
from bigbatch.terminal.streams import data_stream
from contract.lifecycle.state import ENDED


def logs(
    run_id: Annotated[int, typer.Argument(help="The run.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Continue until the run ends.")] = False,
    *,
    raw: Annotated[bool, typer.Option("--raw", help="Print control characters unchanged, also to a terminal.")] = False,
) -> None:
    """Print the log of a run. In a terminal, control characters are shown as text (^[ for an escape)."""
    out = data_stream(raw=raw)
    with Client() as client:
        client.run(run_id)  # raises if the service does not answer at first; later errors are retried
        offset = _print_rest(client, run_id, 0, out)
        ended = not follow
        while not ended:
            # Query the state before the log: the log of an ended run is then complete.
            ended = retry_until_answered(partial(client.run, run_id), time.sleep).state in ENDED
            offset = _print_rest(client, run_id, offset, out)
            if not ended:
                time.sleep(POLL_INTERVAL_S)


def _print_rest(client: Client, run_id: int, offset: int, out: TextIO) -> int:
    """Print the log from `offset` to its end; return the offset of the end."""
    while True:
        part = retry_until_answered(partial(client.log, run_id, offset), time.sleep)
        out.write(part.text)
        out.flush()
        offset = part.next
        if not part.text or part.next >= part.size:
            return offset
