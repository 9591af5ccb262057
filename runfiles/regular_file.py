"""The way to open a file that a program may have written or replaced: no open waits for a FIFO's writer."""

from __future__ import annotations

import errno
import os
import stat
from typing import IO


def open_regular(path: str | os.PathLike[str], *, follow_links: bool = True) -> IO[bytes]:
    """Open a regular file for reading; raise OSError for everything else, such as a FIFO or a device."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no regular file", os.fspath(path))
    return os.fdopen(descriptor, "rb")


def open_for_append(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file at its end, unbuffered, and make it if it is absent; raise OSError for everything else."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(path, flags, 0o666)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no regular file", os.fspath(path))
    os.set_blocking(descriptor, True)  # a child process that inherits the file may expect that
    return os.fdopen(descriptor, "ab", buffering=0)


def read_text(path: str | os.PathLike[str], max_bytes: int) -> str:
    """Return the text of a regular file; raise OSError for a link or a larger file, and UnicodeDecodeError."""
    return read_bytes(path, max_bytes).decode("utf-8")


def read_bytes(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    """Return the content of a regular file; raise OSError for a link or a larger file."""
    with open_regular(path, follow_links=False) as file:
        found = file.read(max_bytes + 1)
    if len(found) > max_bytes:
        raise OSError(errno.EFBIG, f"more than {max_bytes} bytes", os.fspath(path))
    return found
