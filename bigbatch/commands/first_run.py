"""`bigbatch first-run`: start the service and carry out one experiment."""

from contextlib import suppress
from typing import Annotated

import typer

from bigbatch.client import Client
from bigbatch.commands.options import Home, Port
from bigbatch.commands.sign_in import print_sign_in_link
from bigbatch.commands.up import read_service_settings, warn_of_root
from bigbatch.commands.watch import watch_to_end
from bigbatch.service.address import Address, next_free
from bigbatch.service.home_lock import lock_home
from bigbatch.service.next_steps import print_commands_of_other_terminals, print_home, print_restart
from bigbatch.service.service import Service, running_service
from bigbatch.spec_file import read_spec
from bigbatch.terminal.output import make_console

DEFAULT_FILE = "recipes/first-run.yaml"


def first_run(
    file: Annotated[str, typer.Argument(help="The experiment.")] = DEFAULT_FILE,
    once: Annotated[bool, typer.Option("--once", help="Stop the service after the experiment.")] = False,
    *,
    port: Port = 8000,
    home: Home = None,
) -> None:
    """Start the service, carry out one experiment and show its results."""
    spec = read_spec(file)
    place = read_service_settings(home)
    with lock_home(place.home):
        address = next_free(Address("127.0.0.1", port), place.configured_token)
        token = place.token()
        if port not in (0, address.port):
            print(f"Port {port} is in use, so the service uses port {address.port}.")
        warn_of_root()
        print("Starting the service ...", flush=True)
        with (
            running_service(address, place.home) as service,
            Client(address.url, token, pages_url=place.public_url) as client,
        ):
            print_home(place.home)
            print_commands_of_other_terminals(address.url, place.home)
            created = client.create(spec)
            print(f"Experiment {created.id}: {client.experiment_url(created.id)}", flush=True)
            if once:  # a link to sign in would be dead before it is opened
                print("The service and its pages end with the experiment; without --once they stay.", flush=True)
            else:
                print_sign_in_link(client, f"/experiments/{created.id}")
            succeeded = watch_to_end(client, created.id, make_console(), pause=service.supervise)
            if not once:
                print(f"The dashboard runs at {client.pages_url} until Ctrl-C.", flush=True)
                print_sign_in_link(client)
                print_commands_of_other_terminals(address.url, place.home)
                _wait_for_ctrl_c(service)
        print_restart(place.home)
    raise typer.Exit(0 if succeeded else 1)


def _wait_for_ctrl_c(service: Service) -> None:
    with suppress(KeyboardInterrupt):
        while True:
            service.supervise(60)
