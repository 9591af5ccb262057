"""`bigbatch up`: run the whole service on this machine."""

import os
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from bigbatch.client import Client
from bigbatch.commands.options import Home, Host, Port
from bigbatch.commands.sign_in import print_sign_in_link
from bigbatch.errors import BigbatchError
from bigbatch.service.address import Address, check_address
from bigbatch.service.home_lock import lock_home
from bigbatch.service.next_steps import print_commands_of_other_terminals, print_home
from bigbatch.service.service import running_service
from bigbatch.terminal.message import print_message
from contract.access.token_file import TokenFileError, read_or_create_token
from contract.settings import Settings, setting_errors
from contract.user_home import expand_user


class ServiceSettings(NamedTuple):
    """The settings of a service that this command starts."""

    home: Path
    configured_token: str  # "" without BIGBATCH_TOKEN
    public_url: str  # of the dashboard; "" without BIGBATCH_PUBLIC_URL

    def token(self) -> str:
        """Return the service's token, without BIGBATCH_TOKEN the home's; raise BigbatchError if it cannot be used."""
        try:
            return self.configured_token or read_or_create_token(self.home)
        except TokenFileError as error:
            raise BigbatchError(str(error)) from error


def up(host: Host = "127.0.0.1", port: Port = 8000, *, home: Home = None) -> None:
    """Start the whole service on this machine and run it until Ctrl-C."""
    place = read_service_settings(home)
    with lock_home(place.home):
        address = check_address(Address(host, port), place.configured_token)
        token = place.token()
        warn_of_root()
        with running_service(address, place.home) as service:
            with Client(address.shown, token, pages_url=place.public_url) as client:
                print(f"Bigbatch is at {client.pages_url} (Ctrl-C stops the service)", flush=True)
                print_home(place.home)
                print_sign_in_link(client)
            print_commands_of_other_terminals(address.url, place.home)
            with suppress(KeyboardInterrupt):
                while True:
                    service.supervise(60)


def warn_of_root() -> None:
    """Print a warning if the service and its jobs would have root's rights."""
    if os.geteuid() == 0:
        print_message(
            "the service runs as root, so every job and everyone with the token has root's rights: "
            "start it as an ordinary user (as root on Debian: adduser NAME, then su - NAME)"
        )


def read_service_settings(home: Path | None) -> ServiceSettings:
    """Return the service's home folder and token; raise BigbatchError if the service cannot run here."""
    absent = [name for name in ("alembic", "celery", "sqlalchemy", "uvicorn") if not find_spec(name)]
    if absent:
        raise BigbatchError(f"the service needs {', '.join(absent)}: pip install 'bigbatch[service]'")
    try:
        settings = Settings()
    except ValidationError as error:
        raise BigbatchError(setting_errors(error)) from error
    place = expand_user(home, "the whole path").absolute() if home else settings.home_folder()
    return ServiceSettings(place, settings.token, settings.public_url)
