"""Request bodies: read completely, limited in size, parsed from JSON or YAML."""

import re
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import ApiError, Malformed, TooLarge, UnsupportedType, respond
from contract.yaml_reader import DocumentError, read_document

MAX_BYTES = 1_000_000
# No content type that a form of another site can send without a CORS preflight request.
TYPES = {"application/json", "application/yaml", "application/x-yaml"}
# bodies that their endpoints read as they arrive, each with a limit of its own
STREAMED = frozenset(
    {("/api/v1/snapshots", "application/gzip"), ("/api/v1/snapshots/blobs", "application/octet-stream")}
)
# the same for batches of points and pictures of reports: JSON, which pydantic reads ten times as fast as YAML is read
JSON_PATHS = re.compile(r"/api/v1/(runs/[0-9]+/points|reports/[0-9]+/blocks)")
DOCUMENT_KEY = "bigbatch.document"  # key of the parsed body in the ASGI scope


class DocumentMiddleware:
    """ASGI middleware that parses each document in a thread, so that a large one does not block other requests."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        kind = Headers(scope=scope).get("content-type", "") if scope["type"] == "http" else ""
        if (
            scope["type"] == "http"
            and scope["method"] not in ("GET", "HEAD", "OPTIONS")
            and not _is_streamed(scope, kind)
        ):
            try:
                body = await _whole_body(scope, receive)
                scope = {**scope, DOCUMENT_KEY: await run_in_threadpool(_parse, kind, body) if body else None}
            except ClientDisconnect:
                return  # the body is incomplete
            except ApiError as error:
                await respond(error)(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _is_streamed(scope: Scope, kind: str) -> bool:
    path: str = scope["path"]
    is_json = JSON_PATHS.fullmatch(path) is not None
    return scope["method"] == "POST" and (is_json or (path, kind) in STREAMED)


async def _whole_body(scope: Scope, receive: Receive) -> bytes:
    """Return the body; raise TooLarge after at most MAX_BYTES and one chunk."""
    declared = Headers(scope=scope).get("content-length", "0")
    size, body, more = int(declared) if declared.isdigit() else 0, bytearray(), True
    while more:
        if max(size, len(body)) > MAX_BYTES:
            raise TooLarge(f"the body has more than {MAX_BYTES:,} bytes, the limit of a spec")
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False) or len(body) > MAX_BYTES
    return bytes(body)


def _parse(content_type: str, body: bytes) -> dict[str, Any]:
    kind = content_type.split(";")[0].strip().lower()
    if kind not in TYPES:
        raise UnsupportedType(f"content type '{kind}' is not supported; send application/json or application/yaml")
    try:
        return read_document(body)
    except DocumentError as error:
        raise Malformed(f"the body is not a valid document: {error}") from error
