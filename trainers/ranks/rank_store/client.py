"""RankStore: the store of an attempt's ranks, as torch.distributed uses it; rank 0 serves it (server.py).

torch's TCPStore listens on all interfaces and asks no peer for a secret; its FileStore needs flock, which not every
shared file system has (docs/decisions/0022-a-store-with-a-secret.md).
"""

import socket
from collections.abc import Sequence
from datetime import timedelta

from torch.distributed import (  # type: ignore[attr-defined]  # Store is not in torch's __all__
    DistNetworkError,
    DistStoreError,
    Store,
)

from trainers.collectives.wire import handshake
from trainers.ranks.rank_store import protocol
from trainers.ranks.rank_store.protocol import OK, MessageBuffer, encode

RECEIVED_BYTES = 1 << 16  # by one call of recv


class RankStore(Store):
    """Read and write the keys that all ranks share. Several threads may call at once.

    A call raises DistStoreError after `timeout_s` (of `get` and `wait`: if no rank sets the keys), and DistNetworkError
    when rank 0 has ended. Both are RuntimeErrors, as TCPStore's.
    """

    def __init__(self, address: tuple[str, int], identity: handshake.Identity, *, timeout_s: float) -> None:
        super().__init__()
        self._address, self._identity, self._timeout_s = address, identity, timeout_s
        self._idle = [self._connect()]  # connections on which no call waits for its reply

    def set(self, key: str, value: str | bytes) -> None:
        """Set a key."""
        self._call(protocol.SET, key.encode(), value.encode() if isinstance(value, str) else value)

    def get(self, key: str) -> bytes:
        """Return the value of a key; wait until a rank sets the key."""
        (value,) = self._call(protocol.GET, key.encode())
        return value

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all keys are set."""
        timeout_s = timeout.total_seconds() if timeout is not None else None
        self._call(protocol.WAIT, *[key.encode() for key in keys], timeout_s=timeout_s)

    def check(self, keys: Sequence[str]) -> bool:
        """Return whether all keys are set."""
        return self._call(protocol.CHECK, *[key.encode() for key in keys]) == [b"1"]

    def add(self, key: str, amount: int) -> int:
        """Add to a key's number, 0 if the key is not set; return the sum."""
        return int(self._call(protocol.ADD, key.encode(), str(amount).encode())[0])

    def delete_key(self, key: str) -> bool:
        """Delete a key; return whether the key was set."""
        return self._call(protocol.DELETE, key.encode()) == [b"1"]

    deleteKey = delete_key  # the name by which a PrefixStore calls the method

    def has_extended_api(self) -> bool:
        """Return False: torch's optional operations are not served."""
        return False

    def clone(self) -> "RankStore":
        """Return this store: each waiting call has a connection of its own."""
        return self

    def _call(self, *request: bytes, timeout_s: float | None = None) -> list[bytes]:
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            sock = self._idle.pop()
        except IndexError:
            sock = self._connect()
        try:
            sock.settimeout(max(timeout_s, 0.001))  # 0 would make the socket non-blocking
            sock.sendall(encode(request))
            status, *results = _receive(sock)
        except TimeoutError as error:
            sock.close()
            operation, key = (field.decode(errors="replace") for field in (*request, b"")[:2])
            message = f"{operation} of {key!r} in the ranks' store timed out after {timeout_s:g} s"
            raise DistStoreError(message) from error
        except (OSError, EOFError) as error:
            sock.close()
            raise DistNetworkError(
                f"Connection was likely closed: rank 0 does not serve the store ({error})"
            ) from error
        self._idle.append(sock)
        if status != OK:
            raise DistStoreError(b" ".join(results).decode(errors="replace"))
        return results

    def _connect(self) -> socket.socket:
        try:
            return handshake.connect(self._address, self._identity, peer=0, timeout_s=self._timeout_s)
        except OSError as error:
            host, port = self._address
            message = f"rank {self._identity.rank} cannot connect to the ranks' store at {host}:{port}"
            hint = "GLOO_SOCKET_IFNAME selects the interface of rank 0"
            raise DistNetworkError(f"{message}: {error} ({hint})") from error


def _receive(sock: socket.socket) -> list[bytes]:
    buffer = MessageBuffer()
    while (fields := buffer.add(part := sock.recv(RECEIVED_BYTES))) is None:
        if not part:
            raise EOFError("the connection was closed")
    return fields
