"""The hash of a file or folder that a job wrote, as the service computes it; the job does by runfiles/content.py."""

import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import NamedTuple

from contract.folder.bounds import INT4
from contract.folder.files.untrusted_file import UnreadableFileError, open_file, open_folder, stat_file
from contract.lifecycle.artifact import ArtifactKind
from runfiles.content import BLOCK_BYTES as BLOCK_BYTES
from runfiles.content import MAX_ENTRIES, FolderHash, in_order
from runfiles.content import ContentError as ContentError

assert MAX_ENTRIES < INT4


class Content(NamedTuple):
    """What a path has."""

    kind: ArtifactKind
    size_bytes: int
    files: int
    sha256: str


HashFile = Callable[[Path, str], str]


def hash_file(folder: Path, name: str, progress: Callable[[], None] = lambda: None) -> str:
    """Return the hash of a file's bytes; raise ContentError if it changes meanwhile, or OSError."""
    digest = sha256()
    with open_file(folder, name) as file:
        for offset in range(0, file.size, BLOCK_BYTES):
            digest.update(file.read(offset, BLOCK_BYTES))
            progress()
        before = (file.size, file.written_at)
    status = stat_file(folder, name)
    if (status.st_size, status.st_mtime) != before:
        raise ContentError("it changed while it was read")
    return digest.hexdigest()


def hash_content(folder: Path, name: str, hash_one: HashFile = hash_file) -> Content:
    """Return the kind, size and hash of a file or folder below `folder`; raise ContentError."""
    try:
        if not _is_folder(folder, name):
            size = stat_file(folder, name).st_size
            return Content(ArtifactKind.FILE, size, 1, hash_one(folder, name))
        return _hash_folder(folder, name, hash_one)
    except FileNotFoundError as error:
        raise ContentError("there is no such file or folder") from error
    except UnreadableFileError as error:
        raise ContentError(f"it is {error.strerror}") from error
    except OSError as error:
        raise ContentError(str(error.strerror or error)) from error


def size_of_content(folder: Path, name: str) -> int | None:
    """Return the size of a file, or of all files of a folder, without reading them; None if it is not there."""
    try:
        if not _is_folder(folder, name):
            return stat_file(folder, name).st_size
        return sum(size for _, size, target in entries_of(folder, name) if target is None)
    except (FileNotFoundError, UnreadableFileError, ContentError):
        return None


def _is_folder(folder: Path, name: str) -> bool:
    above, _, leaf = name.rpartition("/")
    with open_folder(folder, above) as descriptor:
        return S_ISDIR(os.lstat(leaf, dir_fd=descriptor).st_mode)


def _hash_folder(folder: Path, name: str, hash_one: HashFile) -> Content:
    hashed = FolderHash()
    for path, size, target in sorted(entries_of(folder, name), key=in_order):
        if target is None:
            hashed.add_file(path, hash_one(folder, f"{name}/{path}"), size)
        else:
            hashed.add_link(path, target)
    return Content(ArtifactKind.FOLDER, hashed.size_bytes, hashed.files, hashed.sha256)


def entries_of(folder: Path, name: str) -> Iterator[tuple[str, int, str | None]]:
    """Yield the path in the folder and the size of each file, and of each link its target too."""
    folders, seen = [""], 0
    while folders:
        below = folders.pop()
        with open_folder(folder, f"{name}/{below}".rstrip("/")) as descriptor:
            for leaf in os.listdir(descriptor):
                path = f"{below}/{leaf}".lstrip("/")
                if (seen := seen + 1) > MAX_ENTRIES:
                    raise ContentError(f"it has more than {MAX_ENTRIES:,} files and folders")
                status = os.lstat(leaf, dir_fd=descriptor)
                if S_ISDIR(status.st_mode):
                    folders.append(path)
                elif S_ISLNK(status.st_mode):
                    yield path, 0, os.readlink(leaf, dir_fd=descriptor)
                elif S_ISREG(status.st_mode):
                    yield path, status.st_size, None
                else:
                    raise ContentError(f"{path} in it is neither a file nor a folder")
