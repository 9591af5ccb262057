"""Several handshakes at once on one selector: a peer that is silent or unknown delays no other peer."""

import selectors
import socket
import time
from contextlib import suppress

from trainers.collectives.wire.handshake import Handshake, Identity

HANDSHAKE_TIMEOUT_S = 60.0  # for an accepted connection; a rank answers at once, unless its process is suspended
UNKNOWN_PEERS = 128  # accepted connections in their handshake, besides one for each rank


class Handshakes:
    """The handshakes of the connections that a rank accepts on `listener` or opens itself.

    The caller calls `select`. The listener's key has the data LISTENER; a handshake's key has the handshake.
    """

    LISTENER = "listener"

    def __init__(
        self, selector: selectors.BaseSelector, listener: socket.socket, identity: Identity, *, world: int
    ) -> None:
        self._selector, self._listener, self._identity = selector, listener, identity
        self._limit = world + UNKNOWN_PEERS
        self._accepted: dict[Handshake, float] = {}  # and when each was accepted, the oldest first
        listener.setblocking(False)
        selector.register(listener, selectors.EVENT_READ, self.LISTENER)

    def select(self, timeout_s: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready within `timeout_s`, perhaps nothing; close the connections of peers that are silent."""
        self._drop_old()
        if self._accepted:
            oldest_s = time.monotonic() - next(iter(self._accepted.values()))
            expires_s = max(HANDSHAKE_TIMEOUT_S - oldest_s, 0.0)
            timeout_s = expires_s if timeout_s is None else min(timeout_s, expires_s)
        return self._selector.select(timeout_s)

    def accept(self) -> None:
        """Accept a connection and start its handshake."""
        try:
            sock, _ = self._listener.accept()
        except OSError:  # the peer has left already
            return
        sock.setblocking(False)
        handshake = Handshake(sock, self._identity.listening())
        self._accepted[handshake] = time.monotonic()
        self._selector.register(sock, selectors.EVENT_READ, handshake)

    def connect(self, address: tuple[str, int], *, peer: int, timeout_s: float) -> Handshake:
        """Connect to a listening rank and start the handshake; raise OSError."""
        sock = socket.create_connection(address, timeout=timeout_s)
        sock.setblocking(False)
        handshake = Handshake(sock, self._identity.connecting(peer))
        self._selector.register(sock, selectors.EVENT_READ, handshake)
        return handshake

    def advance(self, handshake: Handshake) -> bool:
        """Continue a handshake whose socket is readable; return whether it is complete.

        Close an accepted connection whose peer is unknown. Raise OSError if a connection that this rank opened fails.
        """
        try:
            if not handshake.receive():
                return False
        except OSError:
            is_own = handshake not in self._accepted
            self.close(handshake)
            if is_own:
                raise
            return False
        self._release(handshake)
        return True

    def close(self, handshake: Handshake) -> None:
        """End an incomplete handshake and its connection."""
        self._release(handshake)
        handshake.sock.close()

    def _release(self, handshake: Handshake) -> None:
        self._accepted.pop(handshake, None)
        with suppress(KeyError):
            self._selector.unregister(handshake.sock)

    def _drop_old(self) -> None:
        expired = time.monotonic() - HANDSHAKE_TIMEOUT_S
        for handshake, accepted_at in list(self._accepted.items()):
            if accepted_at > expired and len(self._accepted) <= self._limit:
                break
            self.close(handshake)


class PeerSockets:
    """Connect to listening ranks and accept connections on `listener`, until each peer's handshake is complete."""

    def __init__(self, listener: socket.socket, identity: Identity, *, world: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._handshakes = Handshakes(self._selector, listener, identity, world=world)

    def connect(self, address: tuple[str, int], *, peer: int, timeout_s: float) -> None:
        """Start to connect to a listening rank: `next` returns the connection. Raise OSError."""
        self._handshakes.connect(address, peer=peer, timeout_s=timeout_s)

    def next(self, *, timeout_s: float) -> tuple[int, socket.socket]:
        """Return the next peer whose handshake is complete, and its socket, which is non-blocking.

        Raise TimeoutError if no handshake completes within `timeout_s`, or OSError if a connection that this rank
        opened fails.
        """
        deadline = time.monotonic() + timeout_s
        while (remaining_s := deadline - time.monotonic()) > 0:
            for key, _ in self._handshakes.select(remaining_s):
                if key.data is Handshakes.LISTENER:
                    self._handshakes.accept()
                elif self._handshakes.advance(key.data):
                    return key.data.peer, key.data.sock
        raise TimeoutError("timed out")

    def close(self) -> None:
        """Close the listener and all connections whose handshake is incomplete."""
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
            (key.data.sock if isinstance(key.data, Handshake) else key.fileobj).close()  # type: ignore[union-attr]
        self._selector.close()
