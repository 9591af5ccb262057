"""Write files that are complete or absent after any crash: write a draft, sync, rename, sync the folder; and hash."""

import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, NamedTuple

CHUNK_BYTES = 1 << 22


class FileChecksum(NamedTuple):
    """The size and the hash that a file must have."""

    size_bytes: int
    sha256: str


class HashingWriter:
    """A writable file that counts and hashes its bytes, and records the first OSError, which torch.save replaces."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._hash, self._size = file, hashlib.sha256(), 0
        self.error: OSError | None = None

    def write(self, data: bytes) -> int:
        """Write the bytes and return their number."""
        try:
            self._file.write(data)
        except OSError as error:
            self.error = self.error or error
            raise
        self._hash.update(data)
        self._size += memoryview(data).nbytes
        return memoryview(data).nbytes

    def flush(self) -> None:
        """Flush the file."""
        self._file.flush()

    def checksum(self) -> FileChecksum:
        """Return the checksum of all bytes written."""
        return FileChecksum(self._size, self._hash.hexdigest())


def write_durably(path: Path, save: Callable[[HashingWriter], object]) -> FileChecksum:
    """Let `save` write a file that appears complete under its name; return its checksum. Raise OSError if it fails."""
    draft = path.with_name(f".{path.name}.draft")
    try:
        with draft.open("wb") as file:
            writer = HashingWriter(file)
            try:
                save(writer)
            except RuntimeError as error:
                raise writer.error or error from error
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync_folder(path.parent)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return writer.checksum()


def sync_folder(folder: Path) -> None:
    """Put a folder's entries on disk; otherwise a power cut undoes a rename."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_whole(path: Path) -> tuple[io.BytesIO, FileChecksum]:
    """Read a file once; return its content and its checksum. Raise OSError if it cannot be read."""
    digest, content = hashlib.sha256(), io.BytesIO()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            content.write(chunk)
    size = content.tell()
    content.seek(0)
    return content, FileChecksum(size, digest.hexdigest())
