"""The answer with an artifact: a file or a part of it, or a tar archive that is made as the client takes it."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import StreamingResponse

from api.artifacts.archive import ChangedError, archive_of
from api.errors import NotFound, RangeNotSatisfiable
from api.http.methods import IS_HEAD_KEY
from contract.folder.files.untrusted_file import open_file, stat_file
from contract.folder.outputs.content import size_of_content
from store.tables.artifacts import Artifact

BLOCK_BYTES = 1 << 18
RANGE = re.compile(r"bytes=([0-9]{0,19})-([0-9]{0,19})")  # one range; for several, HTTP allows the whole file
UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


def send_file(request: Request, folder: Path, artifact: Artifact) -> StreamingResponse:
    """Return the answer with a file, or with the part that the request's Range names."""
    try:
        size = stat_file(folder, artifact.path).st_size
    except FileNotFoundError as error:
        raise _gone(artifact) from error
    # without the size that was hashed, the file changed later
    etag = f'"{artifact.sha256}"' if size == artifact.size_bytes else None
    headers = headers_of(artifact, artifact.path.rpartition("/")[2])
    return _send(request, folder, artifact.path, size, headers, etag)


def send_written_file(request: Request, folder: Path, path: str, run_id: int) -> StreamingResponse:
    """Return the answer with a file that no artifact names, which its program may still write."""
    try:
        status = stat_file(folder, path)
    except FileNotFoundError as error:
        raise NotFound(f"run {run_id} has no file '{path}'") from error
    etag = f'"{status.st_ino:x}-{status.st_mtime_ns:x}-{status.st_size:x}"'
    return _send(request, folder, path, status.st_size, _headers(run_id, path.rpartition("/")[2], "file"), etag)


def _send(
    request: Request, folder: Path, path: str, size: int, headers: dict[str, str], etag: str | None
) -> StreamingResponse:
    headers = {**headers, "Accept-Ranges": "bytes"}
    if etag:
        headers["ETag"] = etag
    part = _part(request, size, etag)
    first, end = part or (0, size)
    headers["Content-Length"] = str(end - first)
    if part:
        headers["Content-Range"] = f"bytes {first}-{end - 1}/{size}"
    status = 206 if part else 200
    blocks = () if request.scope.get(IS_HEAD_KEY) else _blocks(folder, path, first, end)
    return StreamingResponse(blocks, status, headers, media_type="application/octet-stream")


def send_folder(request: Request, folder: Path, artifact: Artifact) -> StreamingResponse:
    """Return the answer with a folder as a tar archive."""
    if size_of_content(folder, artifact.path) is None:
        raise _gone(artifact)
    headers = headers_of(artifact, f"{artifact.name}.tar")
    blocks = () if request.scope.get(IS_HEAD_KEY) else archive_of(folder, artifact.path, artifact.name)
    return StreamingResponse(blocks, 200, headers, media_type="application/x-tar")


def _gone(artifact: Artifact) -> NotFound:
    return NotFound(f"the artifact '{artifact.name}' is not there: {artifact.path} was removed from the run's folder")


def headers_of(artifact: Artifact, name: str) -> dict[str, str]:
    """Return the headers of the download of an artifact."""
    return _headers(artifact.run_id, name, artifact.name)


def _headers(run_id: int, name: str, otherwise: str) -> dict[str, str]:
    """Return the headers of a download: no browser shows the file, and its name has no path and no quotes."""
    safe = UNSAFE.sub("_", name).lstrip(".") or otherwise
    shown = f"run-{run_id}-{safe}"
    encoded = quote(f"run-{run_id}-{name}", safe="")
    return {
        "Content-Disposition": f"attachment; filename=\"{shown}\"; filename*=UTF-8''{encoded}",
        "Content-Encoding": "identity",  # compressed, a part would have other bytes
        "Cache-Control": "private, no-cache",
    }


def _part(request: Request, size: int, etag: str | None) -> tuple[int, int] | None:
    """Return the first byte and the end of the requested part; None for the whole file. Raise RangeNotSatisfiable."""
    match = RANGE.fullmatch(request.headers.get("range", "").strip())
    condition = request.headers.get("if-range")
    if match is None or not any(match.groups()) or (condition is not None and condition != etag):
        return None
    if not match[1]:  # the last bytes
        first, end = max(0, size - int(match[2])), size
    else:
        first, end = int(match[1]), min(size, int(match[2]) + 1 if match[2] else size)
        if match[2] and int(match[2]) < first:
            return None  # no range, by the rules of HTTP
    if first >= end:
        raise RangeNotSatisfiable(f"the file has {size:,} bytes", size)
    return first, end


def _blocks(folder: Path, path: str, first: int, end: int) -> Iterator[bytes]:
    with open_file(folder, path) as file:  # not before: an answer that nobody takes leaves no file open
        if file.size < end:
            raise ChangedError(path)
        for offset in range(first, end, BLOCK_BYTES):
            yield file.read(offset, min(BLOCK_BYTES, end - offset))
