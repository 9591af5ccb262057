"""One service per home: a lock that the kernel lets go of however its holder ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bigbatch.errors import BigbatchError


@contextmanager
def locked(home: Path) -> Iterator[None]:
    """Hold the home's lock; raise, naming the holder's process, when another has it."""
    path = home / "up.lock"
    try:
        home.mkdir(parents=True, exist_ok=True)
        descriptor = _taken(path)
    except OSError as error:
        raise BigbatchError(f"'{home}' cannot be the service's home: {error.strerror}") from error
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held: afterwards it could be another's
        os.close(descriptor)


def _taken(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 20).decode().strip() or "unknown"
            os.close(descriptor)
            raise BigbatchError(f"the service is up already on {path.parent}, process {holder}") from error
        if _is_still(path, descriptor):
            return descriptor
        os.close(descriptor)  # its holder removed the file between our opening and our locking it


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
