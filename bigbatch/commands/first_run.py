"""`bigbatch first-run`: the service, one experiment on it, and its held-out accuracy, in one command."""

from contextlib import suppress
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.up import Home, Port, place_of
from bigbatch.commands.watch import watch_to_end
from bigbatch.service.address import Address, next_free
from bigbatch.service.home_lock import locked
from bigbatch.service.service import Service, running
from bigbatch.spec_file import read_spec
from bigbatch.terminal.output import console

FIRST = "recipes/first-run.yaml"


def first_run(
    file: Annotated[str, typer.Argument(help="The experiment.")] = FIRST,
    once: Annotated[bool, typer.Option("--once", help="End the service when the experiment has ended.")] = False,
    *,
    port: Port = 8000,
    home: Home = None,
) -> None:
    """Start the service, carry one experiment out and show how it went."""
    spec = read_spec(file)
    place = place_of(home)
    with locked(place.home):
        address = next_free(Address("127.0.0.1", port), place.token)
        if port not in (0, address.port):
            print(f"Port {port} is taken, so this is on {address.port}.")
        print("Starting the service ...", flush=True)
        with running(address, place.home) as service:
            went_well = _carry_out(service, spec)
            if not once:
                print(f"The dashboard stays at {address.url} until Ctrl-C.", flush=True)
                _stay(service)
    raise typer.Exit(0 if went_well else 1)


def _carry_out(service: Service, spec: dict[str, object]) -> bool:
    with Client(service.address.url) as client:
        created = client.create(spec)
        print(f"Experiment {created.id}: {client.page_of(created.id)}", flush=True)
        return watch_to_end(client, created.id, console(), pause=service.tend)


def _stay(service: Service) -> None:
    with suppress(KeyboardInterrupt):
        while True:
            service.tend(60)
