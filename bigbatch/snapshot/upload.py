"""The upload of a captured tree: only what the service lacks."""

import gzip
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from bigbatch.errors import ApiError
from bigbatch.snapshot.capture import Capture
from bigbatch.snapshot.errors import FileChangedError, SnapshotError
from bigbatch.snapshot.hash_cache import cache_folder, write_cache
from contract.api.snapshots import Received, SnapshotRequest, SnapshotState
from contract.snapshot.manifest import Manifest, SnapshotFile, SnapshotLink, parse_manifest
from contract.snapshot.pack import pack_header

if TYPE_CHECKING:
    from bigbatch.client import Client

PACK_BYTES = 4 << 20  # of one upload, unless one file is larger: the service allows 60 s for a body
UPLOADS = 2  # at once
ROUNDS = 5  # the service may lose a content between two requests


def upload(taken: Capture, client: "Client") -> str:
    """Send the tree; return the hash of the snapshot. Raise FileChangedError if a file is no longer as captured."""
    name = taken.manifest.hash()
    state = _try(client, SnapshotRequest(base=name))
    request = None
    for _ in range(ROUNDS):
        if state and state.is_stored:
            break
        if state:
            _upload_packs(_packs(taken, state.missing), client)
        state, request = _send(taken, client, request)
    if not (state and state.is_stored):
        raise SnapshotError(
            f"the service still lacks {len(state.missing) if state else 0} files after {ROUNDS} uploads"
        )
    _remember(taken, name)
    return name


def _upload_packs(packs: Iterator[bytes], client: "Client") -> None:
    """Send the packs, two at once: the client reads one while the service writes another."""
    with ThreadPoolExecutor(UPLOADS) as pool:
        sent: deque[Future[Received]] = deque()
        for pack in packs:
            if len(sent) == UPLOADS:
                sent.popleft().result()
            sent.append(pool.submit(client.upload_blobs, pack))
        while sent:
            sent.popleft().result()


def _remember(taken: Capture, name: str) -> None:
    """Store the manifest, so that the next snapshot of this tree sends its changes alone."""
    old = taken.cache.last
    taken.cache.save(name)
    if not _manifest_path(name).exists():
        write_cache(_manifest_path(name), taken.manifest.canonical())
    if old and old != name:
        _manifest_path(old).unlink(missing_ok=True)


def _send(taken: Capture, client: "Client", request: SnapshotRequest | None) -> tuple[SnapshotState, SnapshotRequest]:
    """Send the tree as changes to the last one, or as a whole if the service lacks that; return what was sent."""
    request = request or _changes(taken)
    if request and (state := _try(client, request)):
        return state, request
    whole = SnapshotRequest.model_construct(
        base=None, files=list(taken.manifest.files), links=list(taken.manifest.links), removed=[], source=taken.source
    )
    return client.store_snapshot(_compressed(whole)), whole


def _try(client: "Client", request: SnapshotRequest) -> SnapshotState | None:
    """Return None if the service lacks the base of the request."""
    try:
        return client.store_snapshot(_compressed(request))
    except ApiError as error:
        if error.status == 404 and request.base and error.problem.code == "not_found":
            return None
        raise


def _changes(taken: Capture) -> SnapshotRequest | None:
    """Return the changes since the last snapshot of this tree; None if that is not known."""
    if not taken.cache.last:
        return None
    try:
        text = _manifest_path(taken.cache.last).read_bytes()
        if sha256(text).hexdigest() != taken.cache.last:
            return None
        old = parse_manifest(text).by_path
    except (OSError, ValueError, KeyError, TypeError):
        return None
    new = taken.manifest.by_path
    changed = [entry for path, entry in new.items() if old.get(path) != entry]
    return SnapshotRequest.model_construct(
        base=taken.cache.last,
        files=[entry for entry in changed if isinstance(entry, SnapshotFile)],
        links=[entry for entry in changed if isinstance(entry, SnapshotLink)],
        removed=[path for path in old if path not in new],
        source=taken.source,
    )


def _manifest_path(name: str) -> Path:
    return cache_folder() / f"{name}.manifest"


def _compressed(request: SnapshotRequest) -> bytes:
    return gzip.compress(request.model_dump_json(exclude_defaults=True).encode(), compresslevel=3, mtime=0)


def _packs(taken: Capture, missing: Sequence[str]) -> Iterator[bytes]:
    """Yield the bodies of the uploads."""
    paths = _paths(taken.manifest)
    pack = bytearray()
    for blob in missing:
        content = _read(taken.root, paths, blob)
        if pack and len(pack) + len(content) > PACK_BYTES:
            yield bytes(pack)
            pack.clear()
        pack += pack_header(blob, len(content))
        pack += content
    if pack:
        yield bytes(pack)


def _paths(manifest: Manifest) -> dict[str, str]:
    return {file.sha256: file.path for file in manifest.files}


def _read(root: Path, paths: Mapping[str, str], blob: str) -> bytes:
    if blob not in paths:
        raise SnapshotError(f"the service asked for a content that the tree does not have ({blob})")
    path = root / paths[blob]
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileChangedError(f"{path} cannot be read any more: {error.strerror}") from error
    if sha256(content).hexdigest() != blob:
        raise FileChangedError(f"{path} changed while the snapshot was taken: try again when nothing writes into it")
    return content
