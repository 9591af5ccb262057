"""Bodies at the door: not too large, JSON or YAML, and JSON behind it."""

import json

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import ApiError, Malformed, TooLarge, UnsupportedType, respond
from contract.document import DocumentError, read

MAX_BYTES = 1_000_000
# no type that a form of a foreign page can send without asking first (CORS)
TYPES = {"application/json", "application/yaml", "application/x-yaml"}


class Documents:
    """ASGI middleware: reads a body whole, within bounds, and hands it on as JSON."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in ("GET", "HEAD", "OPTIONS"):
            await self.app(scope, receive, send)
            return
        try:
            body = await _whole_body(scope, receive)
            if body:
                body = _as_json(Headers(scope=scope).get("content-type", ""), body)
        except ApiError as error:
            await respond(error)(scope, receive, send)
            return
        await self.app(_relabeled(scope, len(body)), _replay(body, receive), send)


async def _whole_body(scope: Scope, receive: Receive) -> bytes:
    """The body; no more of it is taken in than the bound and one piece."""
    declared = Headers(scope=scope).get("content-length", "0")
    size, body, more = int(declared) if declared.isdigit() else 0, bytearray(), True
    while more:
        if max(size, len(body)) > MAX_BYTES:
            raise TooLarge(f"the body is over {MAX_BYTES:,} bytes, more than a spec may have")
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False) or len(body) > MAX_BYTES
    return bytes(body)


def _as_json(content_type: str, body: bytes) -> bytes:
    kind = content_type.split(";")[0].strip().lower()
    if kind not in TYPES:
        raise UnsupportedType(f"'{kind}' is not taken; send application/json or application/yaml")
    try:
        return json.dumps(read(body)).encode()
    except DocumentError as error:
        raise Malformed(f"the body does not parse: {error}") from error


def _relabeled(scope: Scope, length: int) -> Scope:
    relabeled = {**scope, "headers": list(scope["headers"])}
    headers = MutableHeaders(scope=relabeled)
    if length:
        headers["content-type"] = "application/json"
        headers["content-length"] = str(length)
    return relabeled


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives the body once and then whatever comes (a disconnect)."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again
