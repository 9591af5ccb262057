"""The copy of one artifact into the object store: each file is hashed as it is sent, and read back.

The copy counts once what the store returns has the hash that the job stored at the run's end. Nothing here knows the
database.
"""

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

from contract.folder.files.untrusted_file import open_file
from contract.folder.outputs.content import BLOCK_BYTES, ContentError, entries_of, hash_content
from contract.folder.stored_checkpoints import MANIFEST
from contract.lifecycle.artifact import ArtifactKind
from store.mirror.manifest import (
    Manifest,
    MirroredFile,
    MirroredLink,
    WrongBytesError,
    checked,
    key_of,
    write_manifest,
)
from store.mirror.object_store import ObjectStore

Progress = Callable[[], None]


class Source:
    """An artifact in the folder of a run."""

    def __init__(self, folder: Path, path: str, kind: ArtifactKind, sha256: str) -> None:
        self.folder, self.path, self.kind, self.sha256 = folder, path, kind, sha256


def copy_artifact(store: ObjectStore, source: Source, place: str, progress: Progress) -> str:
    """Copy an artifact to a place in the store; return the hash of the list of its files.

    Raise ContentError if the files are not those that were hashed or the store returned other bytes, StoreError if the
    store failed, and what `progress` raises.
    """
    sender = _Sender(store, source, place, progress)
    content = hash_content(source.folder, source.path, sender.send)
    found = content.sha256
    if source.kind is ArtifactKind.CHECKPOINT:  # whose hash is that of its own list of parts
        found = next((file.sha256 for file in sender.files if file.path == MANIFEST), "")
    if found != source.sha256:
        raise ContentError("its files have changed since the end of the run: they have another hash")
    links: list[MirroredLink] = []
    if content.kind is ArtifactKind.FOLDER:
        entries = entries_of(source.folder, source.path)
        links = [MirroredLink(path, target) for path, _, target in entries if target is not None]
    try:
        return write_manifest(store, place, Manifest(sender.files, links))
    except WrongBytesError as error:
        raise ContentError(str(error)) from error


class _Sender:
    """Sends the files of an artifact, and notes their hashes."""

    def __init__(self, store: ObjectStore, source: Source, place: str, progress: Progress) -> None:
        self._store, self._source, self._place, self._progress = store, source, place, progress
        self.files: list[MirroredFile] = []

    def send(self, folder: Path, name: str) -> str:
        """Write a file into the store and read it back; return the hash of its bytes."""
        path = name.removeprefix(f"{self._source.path}/") if name != self._source.path else os.path.basename(name)
        try:
            key = key_of(self._place, path)
        except ValueError as error:
            raise ContentError(str(error)) from error
        digest = sha256()
        with open_file(folder, name) as file:
            size = file.size
            self._store.write(key, self._blocks(file.read, size, digest.update))
        found = digest.hexdigest()
        try:
            for _ in checked(self._store.read(key), found, path, self._progress):
                self._progress()
        except WrongBytesError as error:
            raise ContentError(str(error)) from error
        self.files.append(MirroredFile(path, size, found))
        return found

    def _blocks(self, read: Callable[[int, int], bytes], size: int, note: Callable[[bytes], None]) -> Iterator[bytes]:
        for offset in range(0, size, BLOCK_BYTES):
            block = read(offset, BLOCK_BYTES)
            note(block)
            self._progress()
            yield block
        self._progress()
