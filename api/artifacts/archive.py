"""A tar archive of a folder of a run or of its copy, made as it is sent: no link is followed."""

import tarfile
from collections.abc import Iterator
from pathlib import Path

from contract.folder.files.untrusted_file import open_file
from contract.folder.outputs.content import entries_of
from store.mirror.copies import StoredCopy
from store.mirror.manifest import Manifest, read_file
from store.mirror.object_store import ObjectStore

BLOCK_BYTES = 1 << 18
PADDING = tarfile.BLOCKSIZE
END = b"\0" * (2 * tarfile.BLOCKSIZE)


class ChangedError(Exception):
    """A file became shorter while it was sent; the connection ends, so that nobody takes the archive as complete."""


def archive_of(folder: Path, path: str, name: str) -> Iterator[bytes]:
    """Yield the parts of the archive of `path` below `folder`, whose entries begin with `name`.

    Links with a target inside the archive are in it; others are left out.
    """
    for below, _, target in sorted(entries_of(folder, path)):
        entry = tarfile.TarInfo(f"{name}/{below}")
        yield from _file(folder, f"{path}/{below}", entry) if target is None else _link(entry, target)
    yield END


def archive_of_copy(store: ObjectStore, copy: StoredCopy, manifest: Manifest, name: str, at: float) -> Iterator[bytes]:
    """Yield the parts of the archive of a folder's copy in the object store; each file's hash is compared."""
    for file in sorted(manifest.files):
        entry = tarfile.TarInfo(f"{name}/{file.path}")
        entry.size, entry.mtime, entry.mode = file.size_bytes, int(at), 0o644
        yield _head(entry)
        yield from read_file(store, copy.place, file)
        yield b"\0" * (-file.size_bytes % PADDING)
    for link in sorted(manifest.links):
        yield from _link(tarfile.TarInfo(f"{name}/{link.path}"), link.target)
    yield END


def _link(entry: tarfile.TarInfo, target: str) -> Iterator[bytes]:
    """Yield the entry of a link, unless it leads out of the archive."""
    if not target.startswith("/") and ".." not in target.split("/"):
        entry.type, entry.linkname = tarfile.SYMTYPE, target
        yield _head(entry)


def _file(folder: Path, path: str, entry: tarfile.TarInfo) -> Iterator[bytes]:
    with open_file(folder, path) as file:
        entry.size, entry.mtime, entry.mode = file.size, int(file.written_at), 0o644
        yield _head(entry)
        for offset in range(0, file.size, BLOCK_BYTES):
            part = file.read(offset, BLOCK_BYTES)
            if len(part) < min(BLOCK_BYTES, file.size - offset):
                raise ChangedError(path)
            yield part
        yield b"\0" * (-file.size % PADDING)


def _head(entry: tarfile.TarInfo) -> bytes:
    return entry.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
