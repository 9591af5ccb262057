"""Size and removal of a folder that a job wrote: no link is followed, and no depth of folders is too large.

A job may have closed its folders (chmod 555, chmod 000); who owns them can open them again.
"""

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from secrets import token_hex
from stat import S_IMODE, S_IRWXU, S_ISDIR, S_ISREG
from typing import NamedTuple

from contract.folder.files.untrusted_file import UnreadableFileError, open_folder

LOOK = 256  # entries between two looks at the clock: a folder may have millions
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


class FolderSize(NamedTuple):
    """The files of a folder and of all folders below it."""

    size_bytes: int
    files: int
    is_complete: bool  # whether all of them were counted in time


def measure_folder(folder: Path, until: float) -> FolderSize:
    """Count the regular files of a folder until the moment `until` of time.monotonic(); an absent folder is empty.

    A folder that cannot be read, or of which files are removed meanwhile, is counted as far as that is possible.
    """
    size_bytes = files = 0
    names, is_complete = [""], True
    while names:
        name = names.pop()
        try:
            with open_folder(folder, name) as descriptor, os.scandir(descriptor) as entries:
                for number, entry in enumerate(entries):
                    if number % LOOK == LOOK - 1 and time.monotonic() >= until:
                        return FolderSize(size_bytes, files, False)
                    status = entry.stat(follow_symlinks=False)
                    if S_ISDIR(status.st_mode):
                        names.append(f"{name}/{entry.name}" if name else entry.name)
                    elif S_ISREG(status.st_mode):
                        size_bytes, files = size_bytes + status.st_size, files + 1
        except FileNotFoundError:
            is_complete = is_complete and not name
        except (UnreadableFileError, PermissionError):
            is_complete = False
        if time.monotonic() >= until and names:
            return FolderSize(size_bytes, files, False)
    return FolderSize(size_bytes, files, is_complete)


def remove_folder(folder: Path, progress: Callable[[], None] = lambda: None) -> None:
    """Remove a folder with everything in it, or the link in its place; do nothing if it is absent. May raise OSError.

    Folders below it are moved up before their own removal: two open folders suffice for any depth, and a process that
    dies leaves a smaller folder. `progress` is called from time to time.
    """
    try:
        if not S_ISDIR(os.lstat(folder).st_mode):
            os.unlink(folder)
            return
        with open_folder(folder.parent) as above, _opened(above, folder.name) as top:
            numbers = count()
            while names := [name for name in _entries(top) if _remove_entry(top, name)]:
                for name in names:
                    _flatten(top, name, numbers)
                    progress()
        os.rmdir(folder)
    except FileNotFoundError:
        return


def remove_below(folder: Path, name: str, progress: Callable[[], None] = lambda: None) -> None:
    """Remove the file or folder at a path below `folder`; do nothing if it is absent. May raise OSError.

    No link on the way is followed: a folder is moved to the top of `folder` by its entry before its content is removed.
    """
    *above, leaf = name.split("/")
    with ExitStack() as opened:
        try:
            parent = top = opened.enter_context(_opened(None, str(folder)))
            for part in above:
                parent = opened.enter_context(_opened(parent, part))
            if not S_ISDIR(os.lstat(leaf, dir_fd=parent).st_mode):
                os.unlink(leaf, dir_fd=parent)
                return
            moved = f".removed-{token_hex(8)}"
            _move(parent, leaf, top, moved)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno in (errno.ENOTDIR, errno.ELOOP):  # a link or a file is on the way
                return
            raise
    remove_folder(folder / moved, progress)


@contextmanager
def _opened(above: int | None, name: str) -> Iterator[int]:
    """Open a folder so that its entries can be removed, though the job may have closed it; may raise OSError."""
    follow = 0 if above is None else os.O_NOFOLLOW  # the path to the folder may contain links
    try:
        descriptor = os.open(name, _FOLDER | follow, dir_fd=above)
    except PermissionError:
        _allow_owner(above, name, follow)
        descriptor = os.open(name, _FOLDER | follow, dir_fd=above)
    try:
        mode = os.fstat(descriptor).st_mode
        if mode & S_IRWXU != S_IRWXU:
            with suppress(PermissionError):  # another user's: what follows fails, and names what
                os.fchmod(descriptor, S_IMODE(mode) | S_IRWXU)
        yield descriptor
    finally:
        os.close(descriptor)


def _allow_owner(above: int | None, name: str, follow: int) -> None:
    """Give the owner all permissions of a folder that cannot be opened."""
    if not sys.platform.startswith("linux"):
        os.chmod(name, S_IRWXU, dir_fd=above)
        return
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC | follow, dir_fd=above)
    try:
        os.chmod(f"/proc/self/fd/{handle}", S_IRWXU)
    finally:
        os.close(handle)


def _entries(descriptor: int) -> list[str]:
    with os.scandir(descriptor) as entries:
        return [entry.name for entry in entries]


def _remove_entry(folder: int, name: str) -> bool:
    """Remove a file or an empty folder; return whether it is a folder that is not empty."""
    if not S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
        os.unlink(name, dir_fd=folder)
        return False
    with suppress(OSError):  # not empty
        os.rmdir(name, dir_fd=folder)
        return False
    return True


def _flatten(top: int, name: str, numbers: Iterator[int]) -> None:
    """Remove the files in the folder `name`, move its folders into `top`, and remove it."""
    with _opened(top, name) as below:
        for inner in _entries(below):
            if _remove_entry(below, inner):
                _move_up(below, inner, top, numbers)
    os.rmdir(name, dir_fd=top)


def _move_up(below: int, inner: str, top: int, numbers: Iterator[int]) -> None:
    """Move a folder to a free name; an earlier removal that did not finish may have left such names."""
    for number in numbers:
        try:
            _move(below, inner, top, f".removed-{os.getpid()}-{number}")
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
        else:
            return


def _move(below: int, name: str, above: int, new: str) -> None:
    """Move a folder; the kernel asks for the permission to write into it, for it has the entry `..`."""
    try:
        os.rename(name, new, src_dir_fd=below, dst_dir_fd=above)
    except PermissionError:
        with _opened(below, name):
            pass
        os.rename(name, new, src_dir_fd=below, dst_dir_fd=above)
