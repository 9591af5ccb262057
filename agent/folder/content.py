"""The hash of a file, or of a folder with everything in it, as contract/folder/outputs/content.py has it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Any

from runfiles.regular_file import open_regular

BLOCK_BYTES = 1 << 20
MAX_ENTRIES = 1_000_000  # of a folder


class ContentError(Exception):
    """The message says why a path has no hash."""


def describe_content(folder: Path, name: str) -> dict[str, Any]:
    """Return the kind, size, number of files and hash of a file or folder below `folder`; raise ContentError."""
    try:
        _refuse_links(folder, name)
        path = folder / name
        if S_ISDIR(os.lstat(path).st_mode):
            return _describe_folder(path)
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
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise ContentError("it changed while it was read")
    return digest.hexdigest(), before.st_size


def _describe_folder(folder: Path) -> dict[str, Any]:
    digest, size_bytes, files = sha256(), 0, 0
    for path, target in sorted(_entries(folder), key=lambda entry: os.fsencode(entry[0])):
        if target is None:
            hashed, size = _hash_file(folder / path)
            head = f"file {hashed} {size}"
            size_bytes, files = size_bytes + size, files + 1
        else:
            head = f"link {target}"
        digest.update(os.fsencode(f"{head}\0{path}\0"))
    return {"kind": "folder", "size_bytes": size_bytes, "files": files, "sha256": digest.hexdigest()}


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
