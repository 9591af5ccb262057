"""`bigbatch submit`: create an experiment from a file."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from bigbatch.client import Client
from bigbatch.commands.options import FromStep, Json, SnapshotMb, SpecFile
from bigbatch.commands.watch import watch_unless_interrupted
from bigbatch.snapshot.attach import attach_snapshot, describe_snapshot
from bigbatch.snapshot.capture import MAX_MB
from bigbatch.spec_file import read_spec
from bigbatch.terminal.output import format_count, make_console, print_json
from contract.api.responses import Created


class Submitted(Created):
    """A created experiment, with its page on the dashboard."""

    url: str


def submit(
    file: SpecFile,
    watch: Annotated[bool, typer.Option("--watch", help="Show progress until the experiment ends.")] = False,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Submit also if the cluster's report contradicts the resources.")
    ] = False,
    from_step: FromStep = None,
    no_snapshot: Annotated[
        bool, typer.Option("--no-snapshot", help="Take no snapshot of the folder of a program's FILE.")
    ] = False,
    snapshot_mb: SnapshotMb = MAX_MB,
    as_json: Json = False,
) -> None:
    """Submit the experiment in FILE; every point of its grid becomes a run.

    A program whose spec has neither `code` nor `working_folder` runs a snapshot of the folder of FILE.
    """
    spec = read_spec(file)
    with Client() as client:
        if not no_snapshot:
            spec = _with_snapshot(spec, file, client, snapshot_mb)
        created = client.create(spec, force=force, from_step=from_step)
        url = client.experiment_url(created.id)
        for warning in created.warnings:
            print(f"warning: {warning}", file=sys.stderr)
        if as_json:
            print_json(Submitted(id=created.id, runs=created.runs, warnings=created.warnings, url=url))
        else:
            print(f"experiment {created.id}, {format_count(len(created.runs), 'run')}: {url}", flush=True)
        # With --json, standard output is for the JSON only.
        if watch and not watch_unless_interrupted(client, created.id, make_console(stderr=as_json)):
            raise typer.Exit(1)


def _with_snapshot(spec: dict[str, Any], file: str, client: Client, max_mb: float) -> dict[str, Any]:
    """Return the spec with a snapshot of the folder of its file, if it needs one; say what was taken."""
    folder = Path() if file == "-" else Path(file).parent
    spec, taken = attach_snapshot(spec, folder, client, max_mb=max_mb)
    if taken:
        for line in describe_snapshot(taken):
            print(line, file=sys.stderr)
    return spec
