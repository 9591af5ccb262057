"""Responses that several pages ask for after the same change: one request computes them.

A page that follows a stream asks again for what has changed, and sends the mark of the newest event that it got. Any
response to the same request that was begun after that mark contains the change, so all pages share the first one
(docs/decisions/0059). A request without a mark is never answered from here.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.live.marks import HEADER, Marks

MOST_RESPONSES = 64
MOST_BYTES = 500_000  # of one that is shared; a first look at a large experiment is rarely the same twice
AGE_S = 2.0  # some parts of answers depend on the time
VARYING = (b"accept", b"accept-encoding", b"if-none-match")  # request headers on which a response depends
Key = tuple[str, bytes, tuple[bytes, ...]]


@dataclass
class _Shared:
    """A response that one request computes; `messages` is None if it cannot be shared."""

    begun: int  # number of the newest mark when the request began
    at: float = field(default_factory=time.monotonic)
    messages: "asyncio.Future[Sequence[Message] | None]" = field(default_factory=asyncio.Future)

    def serves(self, mark: int) -> bool:
        """Return whether the response contains the change of a mark, and is new enough."""
        return self.begun >= mark and not self.is_old

    @property
    def is_old(self) -> bool:
        """Whether the response may be sent no more."""
        return time.monotonic() - self.at >= AGE_S


class SharedResponsesMiddleware:
    """ASGI middleware that gives equal GET requests with a mark one response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self._responses: OrderedDict[Key, _Shared] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the request, or send the response of an equal one."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            try:
                await self.app(scope, receive, send)
            finally:
                self._responses.clear()  # the page that made this change must not see older answers
        else:
            marks, mark = _mark_of(scope)
            if mark is None:
                await self.app(scope, receive, send)
            else:
                await self._share(scope, receive, send, marks=marks, mark=mark)

    async def _share(self, scope: Scope, receive: Receive, send: Send, *, marks: Marks, mark: int) -> None:
        key = _key_of(scope)
        found = self._responses.get(key)
        if found and found.serves(mark) and (messages := await asyncio.shield(found.messages)):
            for message in messages:
                await send(_copy_of(message))
            return
        mine = self._responses[key] = _Shared(begun=marks.newest)
        self._responses.move_to_end(key)
        self._remove_old()
        try:
            await self.app(scope, receive, _Copy(send, mine.messages).send)
        finally:
            if not mine.messages.done():
                mine.messages.set_result(None)
            if mine.messages.result() is None and self._responses.get(key) is mine:
                del self._responses[key]

    def _remove_old(self) -> None:
        """Keep the responses that may still be sent, and not too many of them."""
        oldest_first = list(self._responses.items())
        for number, (key, one) in enumerate(oldest_first, 1):
            if one.is_old or number + MOST_RESPONSES <= len(oldest_first):
                del self._responses[key]


class _Copy:
    """Sends a response, and gives a copy of it to those that wait: none of a failed or a long one."""

    def __init__(self, send: Send, copy: "asyncio.Future[Sequence[Message] | None]") -> None:
        self._send, self._copy = send, copy
        self._messages: list[Message] = []
        self._bytes = 0

    async def send(self, message: Message) -> None:
        """Copy a message and send it."""
        if not self._copy.done():
            self._messages.append(_copy_of(message))
            self._bytes += len(message.get("body", b""))
            if message.get("status", 200) not in (200, 304) or self._bytes > MOST_BYTES:
                self._copy.set_result(None)
            elif message["type"] == "http.response.body" and not message.get("more_body", False):
                # before it is sent: the client of this request may be slow
                self._copy.set_result(self._messages)
        await self._send(message)


def _copy_of(message: Message) -> Message:
    """Return a copy, because the middlewares around this one add headers to the message itself."""
    return {**message, "headers": list(message["headers"])} if "headers" in message else {**message}


def _mark_of(scope: Scope) -> tuple[Marks, int | None]:
    """Return the marks of this process, and the number of the request's."""
    app: Starlette = scope["app"]
    marks: Marks = app.state.live.marks
    mark = next((value for name, value in scope["headers"] if name == HEADER), b"")
    return marks, marks.number(mark) if mark else None


def _key_of(scope: Scope) -> Key:
    headers = dict(scope["headers"])
    return scope["path"], scope["query_string"], tuple(headers.get(name, b"") for name in VARYING)
