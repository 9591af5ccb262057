"""Arrays that are made once and kept in a file: N ranks ask, one makes it, all read the same bytes.

A file is a SHA-256 of its content and the content. It appears under its name whole (a temporary file, renamed), so a
reader needs no lock; the lock beside it only saves the others the work.
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


def kept(path: Path, make: Callable[[], Bytes]) -> Bytes:
    """Return the one-dimensional array in the file `path`, and `make` it where it is missing or damaged.

    A folder that cannot be written to costs the work each time, and a line on stderr.
    """
    if (found := _read(path)) is not None:
        return found
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.with_name(f"{path.name}.lock")):
            if (found := _read(path)) is not None:  # another rank was first
                return found
            made = make()
            _write(path, made)
            return made
    except OSError as error:
        sys.stderr.write(f"{path} cannot be kept ({error.strerror or error}); it is made again each time\n")
        return make()


def _read(path: Path) -> Bytes | None:
    try:
        raw = np.fromfile(path, dtype=np.uint8)
    except OSError:
        return None
    digest, content = raw[:DIGEST_BYTES], raw[DIGEST_BYTES:]
    if digest.tobytes() == hashlib.sha256(content.data).digest():
        return content
    sys.stderr.write(f"{path} is damaged and made again\n")
    return None


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Wait for the others on this machine, and where the file system knows locks, on all; dies with its holder."""
    file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:  # no locks here: each makes the same bytes, and the last rename stays
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
