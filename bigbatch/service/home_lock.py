"""The lock of a home folder: one service per home. The kernel releases the lock when the process ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bigbatch.errors import BigbatchError
from contract.access.owners import UnsafeFolderError
from contract.access.service_folders import prepare_folders
from contract.private_files import make_private_folder
from contract.settings import Settings


@contextmanager
def lock_home(home: Path) -> Iterator[None]:
    """Hold the home's lock; raise BigbatchError with the holder's process id if another process holds the lock.

    Raise BigbatchError as well if others can put files into the service's folders.
    """
    path = home / "up.lock"
    try:
        make_private_folder(home)
        prepare_folders(Settings(home=home))
        descriptor = _acquire(path)
    except UnsafeFolderError as error:
        raise BigbatchError(str(error)) from error
    except OSError as error:
        raise BigbatchError(f"'{home}' cannot be the service's home: {error.strerror}") from error
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        path.unlink(missing_ok=True)  # before the release, because afterwards the file may belong to another process
        os.close(descriptor)


def _acquire(path: Path) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(descriptor, 20).decode().strip() or "unknown"
            os.close(descriptor)
            raise BigbatchError(f"a service already runs on {path.parent} (process {holder})") from error
        if _is_current(path, descriptor):
            return descriptor
        os.close(descriptor)  # the earlier holder removed the file between open and lock


def _is_current(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
