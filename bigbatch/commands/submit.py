"""`bigbatch submit`: an experiment from a file."""

from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.watch import watch_to_end
from bigbatch.spec_file import read_spec
from bigbatch.terminal.output import console, counted, print_json
from contract.api.responses import Created

SpecFile = Annotated[str, typer.Argument(metavar="FILE", help="YAML or JSON; - reads standard input.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


class Submitted(Created):
    """What was created, and where the dashboard shows it."""

    url: str


def submit(
    file: SpecFile,
    watch: Annotated[bool, typer.Option("--watch", help="Show its progress until it ends.")] = False,
    *,
    as_json: Json = False,
) -> None:
    """Submit the experiment in FILE; every point of its grid becomes a run."""
    spec = read_spec(file)
    with Client() as client:
        created = client.create(spec)
        url = client.page_of(created.id)
        if as_json:
            print_json(Submitted(id=created.id, runs=created.runs, url=url))
        else:
            print(f"experiment {created.id}, {counted(len(created.runs), 'run')}: {url}", flush=True)
        # with --json, standard output is for the JSON alone
        if watch and not watch_to_end(client, created.id, console(stderr=as_json)):
            raise typer.Exit(1)
