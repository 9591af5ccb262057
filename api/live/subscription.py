"""One stream: the events that wait for its client, of which there are never many."""

import asyncio
from collections import deque

from fastapi.sse import ServerSentEvent

from api.live.scope import Scope

MAX_WAITING = 32  # events; a client that falls behind further reads anew what it shows


class Subscription:
    """The events of one client. Only the event loop's thread uses it."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._waiting: deque[ServerSentEvent] = deque()
        self._is_closed = False
        self._news = asyncio.Event()

    def put(self, event: ServerSentEvent) -> None:
        """Add an event; too many events become one `reload`."""
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.clear()
            event = reload_event(event.id)
        self._waiting.append(event)
        self._news.set()

    def close(self) -> None:
        """End the stream after the events that wait."""
        self._is_closed = True
        self._news.set()

    async def get(self, timeout_s: float) -> ServerSentEvent | None:
        """Return the next event; None at the end of the stream, or if none comes in time."""
        if not self._waiting and not self._is_closed:
            self._news.clear()
            try:
                await asyncio.wait_for(self._news.wait(), timeout_s)
            except TimeoutError:
                return None
        return self._waiting.popleft() if self._waiting else None


def reload_event(event_id: str | None) -> ServerSentEvent:
    """Return the event after which a client reads anew what it shows."""
    return ServerSentEvent(event="reload", raw_data="{}", id=event_id)
