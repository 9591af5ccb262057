"""`bigbatch delete` and `deleted`: delete experiments or runs with their files, and undo that."""

import sys
from datetime import datetime
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.lifecycle.repeat import IsRun
from bigbatch.commands.options import Json
from bigbatch.errors import BigbatchError
from bigbatch.lifecycle_client import Kind
from bigbatch.terminal.output import format_count, print_json, print_table
from bigbatch.terminal.units import format_bytes
from contract.api.lifecycle import Deleted, DeletionView

NOT_DELETED = "nothing was deleted, so nothing was restored"


class NotConfirmed(BigbatchError):
    """Nobody confirmed the deletion."""


def delete(
    number: Annotated[int, typer.Argument(metavar="ID", help="Id of the experiment, or of the run with --run.")],
    run: IsRun = False,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Restore it, while `bigbatch deleted` lists it.")] = False,
) -> None:
    """Delete an experiment or a run that has ended, with its files; print first what goes, and ask."""
    kind: Kind = "runs" if run else "experiments"
    what = f"run {number}" if run else f"experiment {number}"
    with Client() as client:
        if undo:
            restored = client.restore(number, kind)
            print(
                f"restored {what} with {format_count(restored.runs, 'run')}"
                if restored.runs
                else f"{what}: {NOT_DELETED}"
            )
            return
        size = client.size(number, kind)
        more = "" if size.is_complete else " at least"
        files = f"{format_count(size.files, 'file')}, {format_bytes(size.size_bytes)}"
        print(f"{what} ({size.confirm}): {format_count(size.runs, 'run')},{more} {files}")
        if not yes and not _confirms(size.confirm, size.undo_hours):
            raise NotConfirmed("nothing was deleted")
        deleted = client.delete(number, kind, confirm=size.confirm)
    print(f"deleted {what} with {format_count(deleted.runs, 'run')}; {_files(deleted, number, run=run)}")


def deleted_items(as_json: Json = False) -> None:
    """List the deletions that can be undone, each with the moment until which it can."""
    with Client() as client:
        found = list(client.deletions())
    if as_json:
        print_json(found)
        return
    print_table(("DELETED", "RUNS", "NAME", "UNTIL"), [_row(one) for one in found])


def _row(one: DeletionView) -> list[str]:
    return [f"{one.kind} {one.id}", str(one.runs), one.name, _moment(one.restorable_until)]


def _files(deleted: Deleted, number: int, *, run: bool) -> str:
    if deleted.restorable_until is None:
        return "the files are removed in the background"
    until = _moment(deleted.restorable_until)
    return f"the files are removed after {until}; undo: bigbatch delete {number}{' --run' if run else ''} --undo"


def _confirms(text: str, undo_hours: int) -> bool:
    """Ask for the text that confirms the deletion; without a terminal nobody can answer."""
    if not sys.stdin.isatty():
        raise NotConfirmed("standard input is no terminal to ask: repeat the command with --yes")
    how = f"it can be undone for {format_count(undo_hours, 'hour')}" if undo_hours else "it cannot be undone"
    return input(f"Type '{text}' to delete this; {how}: ") == text


def _moment(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M %Z}"
