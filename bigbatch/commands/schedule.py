"""`bigbatch schedule`: experiments that are submitted again and again, or when a file appears."""

from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from bigbatch.client import Client
from bigbatch.commands.options import Json, SnapshotMb, SpecFile
from bigbatch.errors import BigbatchError
from bigbatch.snapshot.attach import attach_snapshot
from bigbatch.snapshot.capture import MAX_MB
from bigbatch.spec_file import read_spec
from bigbatch.terminal.output import print_json, print_table
from contract.api.schedules import ScheduleView
from contract.lifecycle.schedule import Missed, Overlap
from contract.validation import issues_of

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the schedule.")]
app = typer.Typer(
    name="schedule",
    help="Submit experiments again and again, or for a file.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_schedules(as_json: Json = False) -> None:
    """List the schedules."""
    with Client() as client:
        found = client.schedules()
    if as_json:
        print_json(found)
        return
    print_table(("NAME", "EXPERIMENT", "WHEN", "NEXT", "OWNER"), [_row(one) for one in found])


@app.command("add")
def add_schedule(
    name: Name,
    file: SpecFile,
    *,
    cron: Annotated[str | None, typer.Option(help="Five fields: '30 2 * * 1-5'.")] = None,
    time_zone: Annotated[str, typer.Option(help="Of --cron: Europe/Berlin.")] = "UTC",
    path: Annotated[str | None, typer.Option(help="A file on the service's host: start when it appears.")] = None,
    missed: Annotated[Missed, typer.Option(help="After starts were missed.")] = Missed.RUN_ONCE,
    overlap: Annotated[Overlap, typer.Option(help="While the last experiment goes on.")] = Overlap.SKIP,
    snapshot_mb: SnapshotMb = MAX_MB,
) -> None:
    """Submit the experiment in FILE at the moments of --cron, or when the file of --path appears."""
    spec = read_spec(file)
    with Client() as client:
        spec, _ = attach_snapshot(spec, Path() if file == "-" else Path(file).parent, client, max_mb=snapshot_mb)
        try:
            made = client.add_schedule(
                name, spec, cron=cron, time_zone=time_zone, path=path, missed=missed, overlap=overlap
            )
        except ValidationError as error:
            raise BigbatchError(f"{issues_of(error)[0].path}: {issues_of(error)[0].message}") from error
    print(f"schedule {made.name}: {_when(made)}, next {_next(made)}")


@app.command("show")
def show_schedule(name: Name, as_json: Json = False) -> None:
    """Show the newest starts of a schedule, and what became of them."""
    with Client() as client:
        found = client.schedule(_found(client, name).id)
    if as_json:
        print_json(found)
        return
    print(f"{found.name}: {_when(found)}, missed {found.missed.value}, overlap {found.overlap.value}")
    print(f"next {_next(found)}")
    rows = [
        (f"{one.at:%Y-%m-%d %H:%M:%S} UTC", one.status.value, str(one.experiment_id or "-"), one.message or "-")
        for one in found.starts
    ]
    print_table(("AT", "STATUS", "EXPERIMENT", "WHY"), rows)


@app.command("pause")
def pause_schedule(name: Name) -> None:
    """Pause a schedule."""
    _set_paused(name, True)


@app.command("resume")
def resume_schedule(name: Name) -> None:
    """Let a schedule go on; what it missed counts as its rule says."""
    _set_paused(name, False)


@app.command("delete")
def delete_schedule(name: Name) -> None:
    """Delete a schedule; its experiments stay."""
    with Client() as client:
        client.delete_schedule(_found(client, name).id)
    print(f"schedule {name}: deleted")


def _set_paused(name: str, paused: bool) -> None:
    with Client() as client:
        changed = client.pause_schedule(_found(client, name).id, paused=paused)
    print(f"schedule {changed.name}: next {_next(changed)}")


def _found(client: Client, name: str) -> ScheduleView:
    schedules = client.schedules()
    found = next((one for one in schedules if one.name == name), None)
    if found is None:
        known = ", ".join(one.name for one in schedules) or "none"
        raise BigbatchError(f"there is no schedule {name}; there are: {known}")
    return found


def _row(one: ScheduleView) -> tuple[str, ...]:
    return one.name, one.experiment_name, _when(one), _next(one), one.owner or "-"


def _when(one: ScheduleView) -> str:
    return f"file {one.path}" if one.cron is None else f"{one.cron} ({one.time_zone})"


def _next(one: ScheduleView) -> str:
    if one.paused_at is not None:
        return "paused"
    return "when the file appears or changes" if one.next_at is None else f"{one.next_at:%Y-%m-%d %H:%M} UTC"
