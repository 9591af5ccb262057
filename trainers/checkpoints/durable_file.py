"""Files that are whole or not there, whatever dies: a draft, synced, renamed, the folder synced; hashed on the way."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

CHUNK_BYTES = 1 << 22


class Sum(NamedTuple):
    """What a file must be."""

    size_bytes: int
    sha256: str


class Hashed:
    """A file to write to that keeps count and checksum, and the first error (torch puts its own in the place)."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash, self._size = file, hashlib.sha256(), 0
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        try:
            self._file.write(data)
        except OSError as error:
            self.error = self.error or error
            raise
        self._hash.update(data)
        self._size += memoryview(data).nbytes
        return memoryview(data).nbytes

    def flush(self) -> None:
        self._file.flush()

    def sum(self) -> Sum:
        return Sum(self._size, self._hash.hexdigest())


def write(path: Path, save: Callable[[Hashed], object]) -> Sum:
    """Let `save` write a file that appears whole under its name; return its sum; raise OSError when it cannot be."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("wb") as file:
            hashed = Hashed(file)
            try:
                save(hashed)
            except RuntimeError as error:
                raise hashed.error or error from error
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return hashed.sum()


def sync_folder(folder: Path) -> None:
    """Put a folder's entries on disk: a rename is lost with the power otherwise."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def sum_of(path: Path) -> Sum:
    """Read a file through; raise OSError when it cannot be read."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
    return Sum(size, digest.hexdigest())
