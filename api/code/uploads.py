"""Bodies of uploads: read as they arrive, with limits, and off the event loop."""

import zlib
from typing import Any

from fastapi import Request
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect

from api.documents import STREAMED
from api.errors import FolderUnavailable, Invalid, Malformed, TooLarge, UnsupportedType
from api.http.bodies import document_of
from contract.api.snapshots import MAX_REQUEST_BYTES, SnapshotRequest
from contract.snapshot.blob_store import BlobStore
from contract.snapshot.pack import PackError, PackReader
from contract.validation import issues_of

PART = 1 << 20  # bytes that are handed to a thread at once


async def snapshot_request(request: Request) -> SnapshotRequest:
    """Return the request in a body of JSON, compressed or not."""
    if not _is_streamed(request):
        return await run_in_threadpool(_validated, document_of(request, what="the snapshot"))
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_REQUEST_BYTES:
            raise TooLarge(f"the body has more than {MAX_REQUEST_BYTES:,} bytes")
    return await run_in_threadpool(_decompressed, bytes(body))


async def receive_pack(request: Request, store: BlobStore) -> int:
    """Store the contents of a pack as they arrive; return their number."""
    if not _is_streamed(request):
        raise UnsupportedType("send the contents as application/octet-stream")
    reader = PackReader(store)
    try:
        await run_in_threadpool(store.prepare)
        waiting, is_empty = bytearray(), True
        async for part in request.stream():
            waiting += part
            is_empty = is_empty and not part
            if len(waiting) >= PART:
                await run_in_threadpool(reader.feed, bytes(waiting))
                waiting.clear()
        await run_in_threadpool(reader.feed, bytes(waiting))
        reader.close()
        if is_empty:
            raise Malformed("the body is missing: send the contents of files")
    except PackError as error:
        raise Malformed(str(error)) from error
    except ClientDisconnect as error:
        raise Malformed("the upload was interrupted") from error
    except OSError as error:
        raise FolderUnavailable(f"the snapshot cannot be stored: {error.strerror}") from error
    finally:
        await run_in_threadpool(reader.abandon)
    return reader.blobs


def _is_streamed(request: Request) -> bool:
    return (request.url.path, request.headers.get("content-type", "")) in STREAMED


def _decompressed(body: bytes) -> SnapshotRequest:
    stream = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        text = stream.decompress(body, MAX_REQUEST_BYTES)
    except zlib.error as error:
        raise Malformed(f"the body is not compressed by gzip: {error}") from error
    if stream.unconsumed_tail:
        raise TooLarge(f"the request has more than {MAX_REQUEST_BYTES:,} bytes")
    if not stream.eof:
        raise Malformed("the body is incomplete")
    return _validated(text)


def _validated(document: bytes | dict[str, Any]) -> SnapshotRequest:
    try:
        if isinstance(document, bytes):
            return SnapshotRequest.model_validate_json(document)
        return SnapshotRequest.model_validate(document)
    except ValidationError as error:
        raise Invalid("the snapshot is not valid", issues_of(error)[:100]) from error
