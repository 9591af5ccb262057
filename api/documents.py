"""Bodies at the door: read whole, within bounds, as a document in JSON or YAML."""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import ApiError, Malformed, TooLarge, UnsupportedType, respond
from contract.yaml_reader import DocumentError, read

MAX_BYTES = 1_000_000
# no type that a form of a foreign page can send without asking first (CORS)
TYPES = {"application/json", "application/yaml", "application/x-yaml"}
KEY = "bigbatch.document"  # where in the scope an endpoint finds it


class Documents:
    """ASGI middleware: parses a body, in a thread of its own so that a large one keeps nobody waiting."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
            try:
                body = await _whole_body(scope, receive)
                kind = Headers(scope=scope).get("content-type", "")
                scope = {**scope, KEY: await run_in_threadpool(_parse, kind, body) if body else None}
            except ClientDisconnect:
                return  # half a document is none
            except ApiError as error:
                await respond(error)(scope, receive, send)
                return
        await self.app(scope, receive, send)


async def _whole_body(scope: Scope, receive: Receive) -> bytes:
    """The body; no more of it is taken in than the bound and one piece."""
    declared = Headers(scope=scope).get("content-length", "0")
    size, body, more = int(declared) if declared.isdigit() else 0, bytearray(), True
    while more:
        if max(size, len(body)) > MAX_BYTES:
            raise TooLarge(f"the body is over {MAX_BYTES:,} bytes, more than a spec may have")
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False) or len(body) > MAX_BYTES
    return bytes(body)


def _parse(content_type: str, body: bytes) -> dict[str, Any]:
    kind = content_type.split(";")[0].strip().lower()
    if kind not in TYPES:
        raise UnsupportedType(f"'{kind}' is not taken; send application/json or application/yaml")
    try:
        return read(body)
    except DocumentError as error:
        raise Malformed(f"the body does not parse: {error}") from error
