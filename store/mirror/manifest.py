"""The list of a copy's files, which the object store has beside them; the database has the list's hash.

Paths are percent-encoded bytes, in the list and in the names of objects: a file's name need not be UTF-8.
"""

import json
import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

from store.mirror.object_store import ObjectStore, StoreError

NAME = "manifest.json"
MAX_KEY_BYTES = 1024  # of S3
SAFE = "/-_.~=+,@"  # letters that have no meaning of their own in any object store


class MirroredFile(NamedTuple):
    """A file of an artifact, by its path in the artifact; the path of a single file is its name."""

    path: str
    size_bytes: int
    sha256: str


class MirroredLink(NamedTuple):
    """A symbolic link of a folder."""

    path: str
    target: str


class Manifest(NamedTuple):
    """The files and links of a copy."""

    files: list[MirroredFile]
    links: list[MirroredLink]


class WrongBytesError(StoreError):
    """The store returned other bytes than those that were written."""


def key_of(place: str, path: str) -> str:
    """Return the name of the object with a file; raise ValueError if no object store takes so long a name."""
    key = f"{place}/files/{_encoded(path)}"
    if len(key) > MAX_KEY_BYTES:
        raise ValueError(f"{path} has a path that is too long for an object store")
    return key


def write_manifest(store: ObjectStore, place: str, manifest: Manifest) -> str:
    """Write the list, read it back, and return its hash; raise StoreError."""
    content = json.dumps(
        {
            "files": [(_encoded(file.path), file.size_bytes, file.sha256) for file in manifest.files],
            "links": [(_encoded(link.path), _encoded(link.target)) for link in manifest.links],
        }
    ).encode()
    digest = sha256(content).hexdigest()
    store.write(f"{place}/{NAME}", [content])
    read_manifest(store, place, digest)
    return digest


def read_manifest(store: ObjectStore, place: str, digest: str) -> Manifest:
    """Return the list; raise StoreError, or WrongBytesError if it has another hash."""
    content = json.loads(b"".join(checked(store.read(f"{place}/{NAME}"), digest, "the list of its files")))
    return Manifest(
        [MirroredFile(_decoded(path), size, digest) for path, size, digest in content["files"]],
        [MirroredLink(_decoded(path), _decoded(target)) for path, target in content["links"]],
    )


def read_file(store: ObjectStore, place: str, file: MirroredFile) -> Iterator[bytes]:
    """Yield the blocks of a file, the last one after its hash is right; raise StoreError, WrongBytesError."""
    return checked(store.read(key_of(place, file.path)), file.sha256, file.path)


def checked(
    blocks: Iterator[bytes], digest: str, what: str, progress: Callable[[], None] = lambda: None
) -> Iterator[bytes]:
    """Yield the blocks, the last one after their hash is right: nobody takes wrong bytes as complete."""
    found, before = sha256(), b""
    for block in blocks:
        found.update(block)
        progress()
        if before:
            yield before
        before = block
    if found.hexdigest() != digest:
        raise WrongBytesError(f"{what} has other bytes in the object store than those that were written")
    if before:
        yield before


def _encoded(path: str) -> str:
    return quote_from_bytes(os.fsencode(path), SAFE)


def _decoded(path: str) -> str:
    return os.fsdecode(unquote_to_bytes(path))
