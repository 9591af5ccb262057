"""The one way to open a file that a job may have written or replaced.

A job may leave anything under a name in its folder: a symbolic link to another user's file, a FIFO that blocks its
reader, a device or a huge file. Each function takes a folder and a name below it, such as "attempts/1.json". The path
to the folder may contain links, as a site's /scratch does; no component of the name may be one. Only regular files are
opened, no call blocks, and no read returns more bytes than its caller allows (docs/decisions/0018).
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from runfiles.whole_file import touch

# O_NONBLOCK: the open of a FIFO returns at once. It has no effect on a regular file.
_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LINK_ERRNOS = (errno.ELOOP, errno.EMLINK)  # O_NOFOLLOW met a link; EMLINK: on FreeBSD
_KINDS = {
    stat.S_IFLNK: (errno.ELOOP, "a symbolic link"),
    stat.S_IFDIR: (errno.EISDIR, "a folder"),
    stat.S_IFIFO: (errno.EINVAL, "a FIFO"),
    stat.S_IFSOCK: (errno.EINVAL, "a socket"),
}


class UnreadableFileError(OSError):
    """The file is not a regular file, is reached through a symbolic link, or is too large. A later try fails too."""


class RegularFile:
    """An open regular file, with its status at the time of opening."""

    __slots__ = ("_descriptor", "_path", "size", "written_at")

    def __init__(self, path: str, descriptor: int, status: os.stat_result) -> None:
        self._path, self._descriptor = path, descriptor
        self.size, self.written_at = status.st_size, status.st_mtime

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._descriptor)

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Return at most `max_bytes` bytes from `offset` on; bytes written after the opening are not read."""
        wanted = min(max_bytes, self.size - offset)
        if wanted <= 0:
            return b""
        found = os.pread(self._descriptor, wanted, offset)
        while 0 < len(found) < wanted and (
            more := os.pread(self._descriptor, wanted - len(found), offset + len(found))
        ):
            found += more
        return found

    def read_all(self, max_bytes: int) -> bytes:
        """Return the whole content; raise UnreadableFileError if the file is larger than `max_bytes` bytes."""
        if self.size > max_bytes:
            reason = f"the file has {self.size:,} bytes, and at most {max_bytes:,} are read"
            raise UnreadableFileError(errno.EFBIG, reason, self._path)
        return self.read(0, max_bytes)


def open_file(folder: Path, name: str) -> RegularFile:
    """Open a regular file for reading; raise FileNotFoundError, UnreadableFileError or another OSError."""
    descriptor = _open(folder, name, os.O_RDONLY)
    try:
        return RegularFile(f"{folder}/{name}", descriptor, _check_regular(os.fstat(descriptor), folder, name))
    except OSError:
        os.close(descriptor)
        raise


def read_file(folder: Path, name: str, max_bytes: int) -> bytes:
    """Return the whole content; raise as `open_file` does, and UnreadableFileError for more than `max_bytes` bytes."""
    with open_file(folder, name) as file:
        return file.read_all(max_bytes)


def stat_file(folder: Path, name: str) -> os.stat_result:
    """Return the status of a regular file without opening the file; raise as `open_file` does."""
    if "/" not in name:
        return _check_regular(_lstat(folder, name), folder, name)
    with _parent(folder, name) as (parent, leaf):
        return _check_regular(os.lstat(leaf, dir_fd=parent), folder, name)


def size_of(folder: Path, name: str) -> int | None:
    """Return the size of a regular file in bytes; None if there is no such file."""
    try:
        return stat_file(folder, name).st_size
    except (FileNotFoundError, UnreadableFileError):
        return None


def open_for_append(folder: Path, name: str) -> IO[bytes]:
    """Open a regular file at its end, unbuffered; create the file if it is absent. Raise as `open_file` does."""
    descriptor = _open(folder, name, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        _check_regular(os.fstat(descriptor), folder, name)
        os.set_blocking(descriptor, True)  # a child process that inherits the file may expect that
        return os.fdopen(descriptor, "ab", buffering=0)
    except OSError:
        os.close(descriptor)
        raise


def is_folder(folder: Path, name: str) -> bool:
    """Return whether there is a folder, and no link to one, of this name directly in `folder`; one call."""
    try:
        return stat.S_ISDIR(_lstat(folder, name).st_mode)
    except (FileNotFoundError, UnreadableFileError):
        return False


def exists(folder: Path, name: str) -> bool:
    """Return whether there is a file or a folder of this name, reached through no symbolic link."""
    try:
        with _parent(folder, name) as (parent, leaf):
            mode = os.lstat(leaf, dir_fd=parent).st_mode
    except (FileNotFoundError, UnreadableFileError):
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def sizes_of(folder: Path, name: str, files: Iterable[str]) -> dict[str, int]:
    """Return the sizes in bytes of those `files` in a folder that exist and are regular files, by name."""
    sizes: dict[str, int] = {}
    with suppress(FileNotFoundError, UnreadableFileError), open_folder(folder, name) as descriptor:
        for file in files:
            with suppress(FileNotFoundError):
                status = os.lstat(file, dir_fd=descriptor)
                if stat.S_ISREG(status.st_mode):
                    sizes[file] = status.st_size
    return sizes


def touch_file(folder: Path, name: str) -> None:
    """Renew the modification time of a file, or create the file; a link is not followed."""
    with _parent(folder, name) as (parent, leaf):
        touch(parent, leaf)


def list_folder(folder: Path, name: str, most: int | None = None) -> list[str]:
    """Return the names in a folder, in any order, at most `most`; empty if there is no such folder or it is a link."""
    try:
        with open_folder(folder, name) as descriptor, os.scandir(descriptor) as entries:
            return [entry.name for entry in islice(entries, most)]
    except (FileNotFoundError, UnreadableFileError):
        return []


def list_status(folder: Path, name: str, most: int) -> dict[str, os.stat_result]:
    """Return the status of the files and folders in a folder by name, at most `most`, without links and devices."""
    found: dict[str, os.stat_result] = {}
    try:
        with open_folder(folder, name) as descriptor, os.scandir(descriptor) as entries:
            for entry in islice(entries, most):
                with suppress(FileNotFoundError):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
                        found[entry.name] = status
    except (FileNotFoundError, UnreadableFileError):
        pass
    return found


@contextmanager
def open_folder(folder: Path, name: str = "") -> Iterator[int]:
    """Open `folder`, or a folder below it; yield a descriptor for the parameter `dir_fd` of the functions of `os`."""
    try:
        descriptor = os.open(folder, _FOLDER)
    except OSError as error:
        _refuse_unreadable(error, folder, "")
        raise
    try:
        for part in name.split("/") if name else ():
            try:
                below = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            except OSError as error:
                _refuse_unreadable(error, folder, name)
                raise
            os.close(descriptor)
            descriptor = below
        yield descriptor
    except OSError as error:
        if isinstance(error.filename, str):  # a call with `dir_fd` names the last component alone
            error.filename = os.path.join(folder, name, error.filename)
        raise
    finally:
        os.close(descriptor)


def _open(folder: Path, name: str, flags: int) -> int:
    try:
        if "/" not in name:  # one call: the tick that ingests events opens thousands of files
            return os.open(f"{folder}/{name}", flags | _SAFE, 0o666)
        with _parent(folder, name) as (parent, leaf):
            return os.open(leaf, flags | _SAFE, 0o666, dir_fd=parent)
    except OSError as error:
        _refuse_unreadable(error, folder, name)
        raise


def _lstat(folder: Path, name: str) -> os.stat_result:
    try:
        return os.lstat(f"{folder}/{name}")
    except OSError as error:
        _refuse_unreadable(error, folder, name)
        raise


@contextmanager
def _parent(folder: Path, name: str) -> Iterator[tuple[int, str]]:
    above, _, leaf = name.rpartition("/")
    with open_folder(folder, above) as descriptor:
        yield descriptor, leaf


def _check_regular(status: os.stat_result, folder: Path, name: str) -> os.stat_result:
    if stat.S_ISREG(status.st_mode):
        return status
    code, kind = _KINDS.get(stat.S_IFMT(status.st_mode), (errno.EINVAL, "a device"))
    raise UnreadableFileError(code, f"{kind}, and only regular files are opened", os.path.join(folder, name))


def _refuse_unreadable(error: OSError, folder: Path, name: str) -> None:
    """Raise UnreadableFileError where a link, a FIFO or a socket caused the error.

    Another error is raised by the caller: here, its traceback would hold this frame, which holds the error. Such a
    circle holds all that the callers have read until the garbage collector comes.
    """
    path = os.path.join(folder, name) if name else str(folder)
    if error.errno in _LINK_ERRNOS:
        raise UnreadableFileError(errno.ELOOP, "a symbolic link, and links are not followed", path) from error
    if error.errno == errno.ENOTDIR:
        raise UnreadableFileError(errno.ENOTDIR, "a part of the path is a link or no folder", path) from error
    if error.errno == errno.ENXIO:  # an open for writing met a FIFO without a reader, or any open a socket
        raise UnreadableFileError(errno.EINVAL, "a FIFO or socket, and only regular files are opened", path) from error
