"""Limits of connections, which hold before any token: the time to send a request, and the number of connections.

uvicorn waits without a limit for a request that a client has begun to send. A client that opens many connections and
never completes a request would use up the process's open files.
"""

import asyncio
import resource
from functools import partial
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0  # from the connection, or from the last response, to the end of the next request's headers
BODY_S = 60.0  # from the end of the headers to the end of the body: 1 MB at 20 kB/s takes 50 s
MAX_CONNECTIONS = 4_000
OTHER_FILES = 500  # files and database connections of the process, and one backlog of new connections
BACKLOG = 200  # connections that asyncio accepts at once, before it handles any of them


def raise_open_files() -> int:
    """Raise this process's limit of open files if it is too low; return the connections that the limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_CONNECTIONS + OTHER_FILES
    if 0 <= soft < wanted:  # -1 is "no limit"
        soft = min(wanted, hard) if hard >= 0 else wanted
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return MAX_CONNECTIONS if soft < 0 else min(MAX_CONNECTIONS, max(soft - OTHER_FILES, soft // 4))


class LimitedProtocol(H11Protocol):
    """HTTP/1.1 whose connections end when a request takes too long to arrive, or when there are too many connections.

    Beyond `most` connections the one that has waited longest for a complete request ends. A client that sends its
    request at once therefore gets an answer, however many other clients send nothing.
    """

    def __init__(
        self, *, waiting: dict["LimitedProtocol", None], most: int, head_s: float, body_s: float, **options: Any
    ) -> None:
        super().__init__(**options)
        self._waiting, self._most = waiting, most
        self._limits_s: dict[object, float] = {h11.IDLE: head_s, h11.SEND_BODY: body_s}
        self._state: object = None  # h11's state of the client, for which the timer runs
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Start the time for the first request."""
        super().connection_made(transport)
        self._restart_timer()
        if len(self.connections) > self._most:
            next(iter(self._waiting), self)._end()

    def data_received(self, data: bytes) -> None:
        """Handle a part of a request."""
        super().data_received(data)
        self._restart_timer()

    def on_response_complete(self) -> None:
        """Start the time for the next request."""
        super().on_response_complete()
        self._restart_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        super().connection_lost(exc)
        self._stop_timer()

    def _restart_timer(self) -> None:
        """Start the timer of the client's state; leave it as it is if the state is the same."""
        state = self.conn.their_state
        if self.transport.is_closing() or state is self._state:
            return
        self._stop_timer()
        limit_s = self._limits_s.get(state)
        if limit_s is not None:  # otherwise the request is complete, and the service works on its response
            self._state = state
            self._timer = self.loop.call_later(limit_s, self._end)
            self._waiting[self] = None

    def _stop_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = self._state = None
        self._waiting.pop(self, None)

    def _end(self) -> None:
        """Close the connection at once: a response would wait for a client that may read nothing."""
        self._stop_timer()
        self.transport.abort()


def limited_protocol(most: int, *, head_s: float = HEAD_S, body_s: float = BODY_S) -> Any:
    """Return uvicorn's option `http`: a protocol for at most this number of connections, and times in seconds."""
    return partial(LimitedProtocol, waiting={}, most=most, head_s=head_s, body_s=body_s)
