"""A file cache for arrays: of several ranks that need an array, one creates it and all read the same bytes.

A file contains the SHA-256 of the content, then the content. A temporary file is renamed to the final name, so a file
is always complete and a reader needs no lock; the lock file only avoids that several ranks create the same array.
"""

import fcntl
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
DIGEST_BYTES = hashlib.sha256().digest_size


def load_or_create(path: Path, create: Callable[[], Bytes]) -> Bytes:
    """Return the one-dimensional array in the file `path`; create it by `create` if it is missing or damaged.

    If the folder cannot be written to, the array is created on every call, with a line on stderr.
    """
    if (found := _read(path)) is not None:
        return found
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _lock(path.with_name(f"{path.name}.lock")):
            if (found := _read(path)) is not None:  # another rank has created it meanwhile
                return found
            created = create()
            _write(path, created)
            return created
    except OSError as error:
        sys.stderr.write(f"{path} cannot be stored ({error.strerror or error}); it is created again each time\n")
        return create()


def _read(path: Path) -> Bytes | None:
    try:
        raw = np.fromfile(path, dtype=np.uint8)
    except OSError:
        return None
    digest, content = raw[:DIGEST_BYTES], raw[DIGEST_BYTES:]
    if digest.tobytes() == hashlib.sha256(content.data).digest():
        return content
    sys.stderr.write(f"{path} is damaged and is created again\n")
    return None


@contextmanager
def _lock(lock: Path) -> Iterator[None]:
    """Exclude other processes on this machine, and on all machines if the file system supports it, until the exit."""
    file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:  # without locks every rank creates the same bytes, and the last rename wins
            print(f"{lock} cannot be locked ({error.strerror})", file=sys.stderr)
        yield
    finally:
        os.close(file)


def _write(path: Path, content: Bytes) -> None:
    file, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(file, "wb") as out:
            out.write(hashlib.sha256(content.data).digest())
            out.write(content.data)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(temporary, 0o644)  # a team may share the folder
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
