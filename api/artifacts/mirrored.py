"""The answer with an artifact whose files are in the object store alone: each file's hash is compared as it is sent.

The last part of a file is sent once the hash is right, so nobody takes other bytes as complete. Therefore the answer is
the whole artifact, whatever part of it the request names.
"""

from collections.abc import Iterator
from itertools import chain

from fastapi import Request
from fastapi.responses import StreamingResponse

from api.artifacts.archive import archive_of_copy
from api.artifacts.download import headers_of
from api.errors import ArtifactStoreUnavailable, NotFound, UnreadableFile
from api.http.methods import IS_HEAD_KEY
from contract.lifecycle.artifact import ArtifactKind
from store.mirror.copies import StoredCopy
from store.mirror.manifest import Manifest, WrongBytesError, read_file, read_manifest
from store.mirror.object_store import ObjectStore, StoreError
from store.tables.artifacts import Artifact


def send_copy(request: Request, artifact: Artifact, copy: StoredCopy) -> StreamingResponse:
    """Return the answer with the copy: a file as it is, a folder or a checkpoint as a tar archive.

    Raise NotFound if the settings name another store, ArtifactStoreUnavailable, or UnreadableFile for other bytes.
    """
    store: ObjectStore | None = request.app.state.object_store
    only = f"the files of the artifact '{artifact.name}' are in {copy.store} alone"
    if store is None or store.url != copy.store:
        raise NotFound(f"{only}, which the service's settings do not name")
    try:
        manifest = read_manifest(store, copy.place, copy.manifest_sha256)
        if artifact.kind is ArtifactKind.FILE:
            return _file(request, artifact, manifest, _begun(read_file(store, copy.place, manifest.files[0])))
        blocks = _begun(archive_of_copy(store, copy, manifest, artifact.name, artifact.created_at.timestamp()))
    except WrongBytesError as error:
        raise UnreadableFile(f"{only}, and {error}") from error
    except StoreError as error:
        raise ArtifactStoreUnavailable(f"{only}, which does not work now: {error}") from error
    headers = headers_of(artifact, f"{artifact.name}.tar")
    return _answer(request, blocks, headers, "application/x-tar")


def _file(request: Request, artifact: Artifact, manifest: Manifest, blocks: Iterator[bytes]) -> StreamingResponse:
    headers = headers_of(artifact, artifact.path.rpartition("/")[2])
    headers |= {"Content-Length": str(manifest.files[0].size_bytes), "ETag": f'"{artifact.sha256}"'}
    return _answer(request, blocks, headers, "application/octet-stream")


def _answer(request: Request, blocks: Iterator[bytes], headers: dict[str, str], kind: str) -> StreamingResponse:
    content = () if request.scope.get(IS_HEAD_KEY) else blocks
    return StreamingResponse(content, 200, headers, media_type=kind)


def _begun(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Return the blocks after the first one was read: a store that does not answer fails before the answer begins."""
    first = next(blocks, b"")
    return chain([first], blocks)
