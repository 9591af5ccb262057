"""The hash of a file, or of a folder with everything in it.

A folder's hash is the SHA-256 of an entry for each file and each symbolic link, in the order of their paths' bytes:
`file HASH SIZE NUL PATH NUL`, or `link TARGET NUL PATH NUL`. No link is followed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Any

from .regular_file import open_regular

BLOCK_BYTES = 1 << 20
MAX_ENTRIES = 1_000_000  # of a folder


class ContentError(Exception):
    """The message says why a path has no hash."""


class FolderHash:
    """The hash of a folder, from its files and links in the order of `in_order`."""

    def __init__(self) -> None:
        self._digest = sha256()
        self.size_bytes = self.files = 0  # of the files

    def add_file(self, path: str, digest: str, size: int) -> None:
        """Add a file with the hash of its bytes."""
        self._add(f"file {digest} {size}", path)
        self.size_bytes, self.files = self.size_bytes + size, self.files + 1

    def add_link(self, path: str, target: str) -> None:
        """Add a symbolic link."""
        self._add(f"link {target}", path)

    def _add(self, head: str, path: str) -> None:
        self._digest.update(os.fsencode(f"{head}\0{path}\0"))

    @property
    def sha256(self) -> str:
        """The hash."""
        return self._digest.hexdigest()


def in_order(entry: tuple[Any, ...]) -> bytes:
    """Return by what the entries of a folder are sorted, of an entry that begins with its path."""
    return os.fsencode(entry[0])


def describe_content(folder: Path, name: str) -> dict[str, Any]:
    """Return the kind, size, number of files and hash of a file or folder below `folder`; raise ContentError."""
    try:
        _refuse_links(folder, name)
        path = folder / name
        mode = os.lstat(path).st_mode
        if S_ISDIR(mode):
            return _describe_folder(path)
        if not S_ISREG(mode):
            raise ContentError("it is neither a file nor a folder")
        digest, size = _hash_file(path)
    except FileNotFoundError as error:
        raise ContentError("there is no such file or folder") from error
    except OSError as error:
        raise ContentError(str(error.strerror or error)) from error
    return {"kind": "file", "size_bytes": size, "files": 1, "sha256": digest}


def _refuse_links(folder: Path, name: str) -> None:
    path = folder
    for part in name.split("/"):
        path = path / part
        if S_ISLNK(os.lstat(path).st_mode):
            raise ContentError("it is a symbolic link, and links are not followed")


def _hash_file(path: Path) -> tuple[str, int]:
    digest = sha256()
    with open_regular(path, follow_links=False) as file:
        before = os.fstat(file.fileno())
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    if _identity(before) != _identity(os.lstat(path)):  # of the name: another file may be there now
        raise ContentError("it changed while it was read")
    return digest.hexdigest(), before.st_size


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _describe_folder(folder: Path) -> dict[str, Any]:
    hashed = FolderHash()
    for path, target in sorted(_entries(folder), key=in_order):
        if target is None:
            hashed.add_file(path, *_hash_file(folder / path))
        else:
            hashed.add_link(path, target)
    return {"kind": "folder", "size_bytes": hashed.size_bytes, "files": hashed.files, "sha256": hashed.sha256}


def _entries(folder: Path) -> Iterator[tuple[str, str | None]]:
    """Yield the path of each file in the folder, and of each link its target too."""
    folders, seen = [""], 0
    while folders:
        below = folders.pop()
        for leaf in os.listdir(folder / below):
            path = f"{below}/{leaf}".lstrip("/")
            seen += 1
            if seen > MAX_ENTRIES:
                raise ContentError(f"it has more than {MAX_ENTRIES:,} files and folders")
            mode = os.lstat(folder / path).st_mode
            if S_ISDIR(mode):
                folders.append(path)
            elif S_ISLNK(mode):
                yield path, os.readlink(folder / path)
            elif S_ISREG(mode):
                yield path, None
            else:
                raise ContentError(f"{path} in it is neither a file nor a folder")
