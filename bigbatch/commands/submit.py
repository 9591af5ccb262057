"""`bigbatch submit`: create an experiment from a file."""

import sys
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Json, SpecFile
from bigbatch.commands.watch import watch_unless_interrupted
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
    as_json: Json = False,
) -> None:
    """Submit the experiment in FILE; every point of its grid becomes a run."""
    spec = read_spec(file)
    with Client() as client:
        created = client.create(spec, force=force)
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
