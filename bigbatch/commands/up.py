"""`bigbatch up`: run the whole service on this machine."""

from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from bigbatch.commands.options import Home, Host, Port
from bigbatch.connection import DEFAULT_URL
from bigbatch.errors import BigbatchError
from bigbatch.service.address import Address, check_address
from bigbatch.service.home_lock import lock_home
from bigbatch.service.service import running_service
from contract.settings import Settings
from contract.validation import issues_of


class ServiceSettings(NamedTuple):
    """The settings of a service that this command starts."""

    home: Path
    token: str


def up(host: Host = "127.0.0.1", port: Port = 8000, *, home: Home = None) -> None:
    """Start the whole service on this machine and run it until Ctrl-C."""
    place = read_service_settings(home)
    with lock_home(place.home):
        address = check_address(Address(host, port), place.token)
        with running_service(address, place.home) as service:
            print(f"Bigbatch is at {address.shown} (Ctrl-C stops the service)", flush=True)
            if address.url != DEFAULT_URL:
                print(f"In other terminals: export BIGBATCH_URL={address.url}", flush=True)
            with suppress(KeyboardInterrupt):
                while True:
                    service.supervise(60)


def read_service_settings(home: Path | None) -> ServiceSettings:
    """Return the service's home folder and token; raise BigbatchError if the service cannot run here."""
    absent = [name for name in ("alembic", "celery", "sqlalchemy", "uvicorn") if not find_spec(name)]
    if absent:
        raise BigbatchError(f"the service needs {', '.join(absent)}: pip install 'bigbatch[service]'")
    try:
        settings = Settings()
    except ValidationError as error:
        message = "; ".join(f"BIGBATCH_{issue.path.upper()}: {issue.message}" for issue in issues_of(error))
        raise BigbatchError(message) from error
    return ServiceSettings(home.expanduser().absolute() if home else settings.home_folder(), settings.token)
