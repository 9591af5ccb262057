"""Where the service listens: checked before anything starts."""

import errno
import socket
from typing import NamedTuple

from bigbatch.connection import LOOPBACK
from bigbatch.errors import BigbatchError

ANYWHERE = {"0.0.0.0", "::", ""}
TRIES = 100  # ports that are looked at for a free one


class Address(NamedTuple):
    host: str
    port: int

    @property
    def url(self) -> str:
        """Where this machine reaches the service."""
        return self._url("127.0.0.1" if self.host in ANYWHERE else self.host)

    @property
    def shown(self) -> str:
        """Where others reach it."""
        return self._url(socket.gethostname() if self.host in ANYWHERE else self.host)

    def _url(self, host: str) -> str:
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


def checked(wished: Address, token: str) -> Address:
    """The address with its port (0: any free one); raise when it is taken, unknown, or open without a token."""
    if wished.host not in LOOPBACK and not token:
        message = (
            f"{wished.host} is not loopback, so whoever reaches it could run jobs as you: set BIGBATCH_TOKEN first"
        )
        raise BigbatchError(message)
    if not 0 <= wished.port < 2**16:
        raise BigbatchError(f"{wished.port} is no port: they go from 0 to {2**16 - 1}")
    try:
        return wished._replace(port=_bound(wished))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise BigbatchError(f"port {wished.port} is taken: choose another with --port") from error
        raise BigbatchError(f"cannot listen on {wished.host}, port {wished.port}: {error.strerror}") from error


def next_free(wished: Address, token: str) -> Address:
    """The address, or the first one above its port that is free."""
    for port in range(wished.port, wished.port + TRIES):
        try:
            return checked(wished._replace(port=port), token)
        except BigbatchError as error:
            taken = isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EADDRINUSE
            if not taken:
                raise
    raise BigbatchError(f"no port from {wished.port} to {wished.port + TRIES - 1} is free")


def _bound(wished: Address) -> int:
    """The port that binding got; it is let go of again at once."""
    [(family, _, _, _, place), *_] = socket.getaddrinfo(
        wished.host, wished.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # as the server does, so that connections of the one before, still closing, do not count
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(place)
        return int(probe.getsockname()[1])
