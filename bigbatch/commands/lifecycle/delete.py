"""`bigbatch delete`: delete experiments or runs with their files."""

import sys
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.lifecycle.repeat import IsRun
from bigbatch.errors import BigbatchError
from bigbatch.lifecycle_client import Kind
from bigbatch.terminal.output import format_count
from bigbatch.terminal.units import format_bytes


class NotConfirmed(BigbatchError):
    """Nobody confirmed the deletion."""


def delete(
    number: Annotated[int, typer.Argument(metavar="ID", help="Id of the experiment, or of the run with --run.")],
    run: IsRun = False,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete an experiment or a run that has ended, with its files; print first what goes, and ask."""
    kind: Kind = "runs" if run else "experiments"
    what = f"run {number}" if run else f"experiment {number}"
    with Client() as client:
        size = client.size(number, kind)
        more = "" if size.is_complete else " at least"
        files = f"{format_count(size.files, 'file')}, {format_bytes(size.size_bytes)}"
        print(f"{what} ({size.confirm}): {format_count(size.runs, 'run')},{more} {files}")
        if not yes and not _confirms(size.confirm):
            raise NotConfirmed("nothing was deleted")
        deleted = client.delete(number, kind, confirm=size.confirm)
    print(f"deleted {what} with {format_count(deleted.runs, 'run')}; the files are removed in the background")


def _confirms(text: str) -> bool:
    """Ask for the text that confirms the deletion; without a terminal nobody can answer."""
    if not sys.stdin.isatty():
        raise NotConfirmed("standard input is no terminal to ask: repeat the command with --yes")
    return input(f"Type '{text}' to delete this for ever: ") == text
