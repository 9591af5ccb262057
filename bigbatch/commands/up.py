"""`bigbatch up`: the whole service on this machine, until Ctrl-C."""

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from pydantic import ValidationError

from bigbatch.connection import DEFAULT_URL
from bigbatch.errors import BigbatchError
from bigbatch.service.address import Address, checked
from bigbatch.service.home_lock import locked
from bigbatch.service.service import running
from contract.settings import Settings
from contract.validation import faults_of

Host = Annotated[str, typer.Option(help="Address to listen on; beyond loopback only with BIGBATCH_TOKEN.")]
Port = Annotated[int, typer.Option(help="Port to listen on; 0: any free one.")]
Home = Annotated[Path | None, typer.Option(help="Folder of everything that is kept; else BIGBATCH_HOME.")]


class Place(NamedTuple):
    """What the surroundings say about a service that is to be started."""

    home: Path
    token: str


def up(host: Host = "127.0.0.1", port: Port = 8000, *, home: Home = None) -> None:
    """Start the whole service on this machine and keep it up until Ctrl-C."""
    place = place_of(home)
    with locked(place.home):
        address = checked(Address(host, port), place.token)
        with running(address, place.home) as service:
            print(f"Bigbatch is at {address.shown} (Ctrl-C ends it)", flush=True)
            if address.url != DEFAULT_URL:
                print(f"In other terminals: export BIGBATCH_URL={address.url}", flush=True)
            with suppress(KeyboardInterrupt):
                while True:
                    service.tend(60)


def place_of(home: Path | None) -> Place:
    """Where the service keeps things, and its token; raise when it cannot run here."""
    absent = [name for name in ("alembic", "celery", "sqlalchemy", "uvicorn") if not find_spec(name)]
    if absent:
        raise BigbatchError(f"the service needs {', '.join(absent)}: pip install 'bigbatch[service]'")
    try:
        settings = Settings()
    except ValidationError as error:
        told = "; ".join(f"BIGBATCH_{fault.path.upper()}: {fault.message}" for fault in faults_of(error))
        raise BigbatchError(told) from error
    return Place(home.expanduser().absolute() if home else settings.home_folder(), settings.token)
