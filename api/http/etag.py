"""ETags of what clients poll: an unchanged answer is 304 without a body."""

from hashlib import blake2b

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PREFIX = "/api/v1/"


class EtagMiddleware:
    """ASGI middleware that gives each JSON answer to a GET of the API a weak ETag, a hash of its content.

    The ETag is weak because the answer may be sent compressed or not.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the request; answer 304 if the client has the same content."""
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"].startswith(PREFIX):
            known = Headers(scope=scope).get("if-none-match", "")
            send = _Sender(send, known).send
        await self.app(scope, receive, send)


class _Sender:
    """Collects one response, to send it with an ETag; sends a response that is not JSON of status 200 as it comes."""

    def __init__(self, send: Send, known: str) -> None:
        self._send, self._known = send, known
        self._start: Message | None = None
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_tagged(message):
            self._start = message
        elif message["type"] == "http.response.body" and self._start:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)
        else:
            await self._send(message)

    async def _finish(self, start: Message) -> None:
        etag = f'W/"{blake2b(self._body, digest_size=16).hexdigest()}"'
        headers = MutableHeaders(raw=list(start["headers"]))
        headers["etag"] = etag
        headers.setdefault("cache-control", "private, no-cache")  # a browser stores the answer and asks again
        is_known = etag in (tag.strip() for tag in self._known.split(",")) or self._known.strip() == "*"
        if is_known:
            del headers["content-length"], headers["content-type"]
        await self._send({**start, "status": 304 if is_known else 200, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": b"" if is_known else bytes(self._body)})


def _is_tagged(start: Message) -> bool:
    kind = Headers(raw=start["headers"]).get("content-type", "")
    return start["status"] == 200 and kind.startswith("application/json")
