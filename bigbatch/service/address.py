"""The address at which the service listens, checked before the service starts."""

import errno
import socket
from typing import NamedTuple

from bigbatch.errors import BigbatchError
from contract.access.service_address import ALL_INTERFACES, local_url
from contract.access.service_record import LOOPBACK

MAX_PORT_TRIES = 100  # ports that `next_free` tries


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The service's URL on this machine."""
        return local_url(self.host, self.port)

    @property
    def shown(self) -> str:
        """The service's URL on other machines."""
        return local_url(socket.gethostname() if self.host in ALL_INTERFACES else self.host, self.port)


def check_address(requested: Address, token: str) -> Address:
    """Return the address with a free port for port 0.

    Raise BigbatchError if the port is in use, the host is unknown, or the address is not loopback and has no token.
    """
    if requested.host not in LOOPBACK and not token:
        message = f"{requested.host} is not loopback, so others could run jobs as you: set BIGBATCH_TOKEN first"
        raise BigbatchError(message)
    if not 0 <= requested.port < 2**16:
        raise BigbatchError(f"{requested.port} is not a valid port: ports are 0 to {2**16 - 1}")
    try:
        return requested._replace(port=_bind_port(requested))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise BigbatchError(f"port {requested.port} is in use: choose another with --port") from error
        raise BigbatchError(f"cannot listen on {requested.host}, port {requested.port}: {error.strerror}") from error


def next_free(requested: Address, token: str) -> Address:
    """Return the address with the first free port from its port on; raise BigbatchError without one."""
    for port in range(requested.port, requested.port + MAX_PORT_TRIES):
        try:
            return check_address(requested._replace(port=port), token)
        except BigbatchError as error:
            is_in_use = isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE
            if not is_in_use:
                raise
    raise BigbatchError(f"no port from {requested.port} to {requested.port + MAX_PORT_TRIES - 1} is free")


def _bind_port(requested: Address) -> int:
    """Bind the port, close the socket and return the port."""
    [(family, _, _, _, address), *_] = socket.getaddrinfo(
        requested.host, requested.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # uvicorn sets this option as well, so closing connections of an earlier server do not count as in use
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
        return int(probe.getsockname()[1])
