"""StoreServer: the keys and values of an attempt's ranks, served by a thread of rank 0.

The server listens on one address only, and serves a connection only after a handshake (collectives/wire/handshake.py).
"""

import selectors
import socket
import threading
from contextlib import suppress

from trainers.collectives.wire.handshake import Handshake, Identity
from trainers.collectives.wire.handshakes import Handshakes
from trainers.ranks.rank_store import protocol
from trainers.ranks.rank_store.protocol import ERROR, OK, MessageBuffer, encode

RECEIVED_BYTES = 1 << 16  # by one call of recv


class StoreServer:
    """Serve the store on `address`, at a port that the system picks, until the process ends or `close` is called."""

    def __init__(self, address: str, secret: bytes, *, world: int) -> None:
        self._listener = socket.create_server((address, 0), backlog=max(world, 128))
        self.port: int = self._listener.getsockname()[1]
        self._selector = selectors.DefaultSelector()
        self._handshakes = Handshakes(
            self._selector, self._listener, Identity(secret, protocol.PURPOSE, 0), world=world
        )
        self._values = _Values()
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._thread = threading.Thread(target=self._run, name="store of the ranks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close the listener and all connections."""
        self._wake.close()
        self._thread.join()

    def _run(self) -> None:
        while True:
            for key, events in self._handshakes.select():
                if key.data is Handshakes.LISTENER:
                    self._handshakes.accept()
                elif isinstance(key.data, Handshake):
                    self._continue_handshake(key.data)
                elif isinstance(key.data, _StoreConnection):
                    self._serve(key.data, events)
                else:
                    self._close_all()
                    return

    def _continue_handshake(self, handshake: Handshake) -> None:
        if self._handshakes.advance(handshake):
            handshake.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(
                handshake.sock, selectors.EVENT_READ, _StoreConnection(handshake.sock, self._selector)
            )

    def _serve(self, connection: "_StoreConnection", events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE:
                connection.flush()
            if events & selectors.EVENT_READ and (request := connection.receive()) is not None:
                self._values.answer(connection, request)
        except (OSError, EOFError, ValueError):
            self._values.forget(connection)
            with suppress(KeyError):
                self._selector.unregister(connection.sock)
            connection.sock.close()

    def _close_all(self) -> None:
        for key in list(self._selector.get_map().values()):
            self._selector.unregister(key.fileobj)
            sock = key.fileobj if isinstance(key.fileobj, socket.socket) else key.data.sock
            sock.close()
        self._selector.close()


class _StoreConnection:
    """One connection of a rank, after the handshake."""

    def __init__(self, sock: socket.socket, selector: selectors.BaseSelector) -> None:
        self.sock, self._selector = sock, selector
        self._buffer, self._unsent, self._is_writing = MessageBuffer(), b"", False

    def receive(self) -> list[bytes] | None:
        """Return the next request once it is complete. Raise EOFError if the rank has closed the connection."""
        try:
            part = self.sock.recv(RECEIVED_BYTES)
        except BlockingIOError:
            return None
        if not part:
            raise EOFError
        return self._buffer.add(part)

    def reply(self, *fields: bytes) -> None:
        """Send a reply. A connection that fails is found by its next `receive`."""
        self._unsent += encode(fields)
        with suppress(OSError):
            self.flush()

    def flush(self) -> None:
        """Send what the kernel takes, and watch for writability while bytes remain; raise OSError."""
        with suppress(BlockingIOError):
            self._unsent = self._unsent[self.sock.send(self._unsent) :]
        if self._is_writing is not bool(self._unsent):
            self._is_writing = bool(self._unsent)
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._is_writing else 0)
            self._selector.modify(self.sock, events, self)


class _Values:
    """The values, and the connections that wait for keys."""

    def __init__(self) -> None:
        self._values: dict[bytes, bytes] = {}
        self._waiting: dict[_StoreConnection, list[bytes]] = {}  # the request of each

    def answer(self, connection: _StoreConnection, request: list[bytes]) -> None:
        """Carry out a request and reply; a request for a missing key gets its reply when the key is set.

        Raise ValueError for a malformed request.
        """
        match request:
            case [protocol.SET, key, value]:
                self._store(key, value)
                connection.reply(OK)
            case [protocol.ADD, key, amount]:
                self._add(connection, key, int(amount))
            case [protocol.GET, _] | [protocol.WAIT, *_]:
                self._answer_or_wait(connection, request)
            case [protocol.CHECK, *keys]:
                connection.reply(OK, str(int(self._has(keys))).encode())
            case [protocol.DELETE, key]:
                connection.reply(OK, str(int(self._values.pop(key, None) is not None)).encode())
            case _:
                raise ValueError(f"the store does not know the request {request[:1]}")

    def forget(self, connection: _StoreConnection) -> None:
        """Drop what a closed connection waits for."""
        self._waiting.pop(connection, None)

    def _has(self, keys: list[bytes]) -> bool:
        return all(key in self._values for key in keys)

    def _store(self, key: bytes, value: bytes) -> None:
        is_new = key not in self._values
        self._values[key] = value
        if is_new and self._waiting:
            for connection, request in list(self._waiting.items()):
                if key in request[1:]:
                    self._answer_or_wait(connection, request)

    def _add(self, connection: _StoreConnection, key: bytes, amount: int) -> None:
        try:
            total = str(int(self._values.get(key, b"0")) + amount).encode()
        except ValueError:
            connection.reply(ERROR, b"the value is not a number")
            return
        self._store(key, total)
        connection.reply(OK, total)

    def _answer_or_wait(self, connection: _StoreConnection, request: list[bytes]) -> None:
        operation, *keys = request
        if not self._has(keys):
            self._waiting[connection] = request
            return
        self._waiting.pop(connection, None)
        connection.reply(OK, *([self._values[keys[0]]] if operation == protocol.GET else []))
