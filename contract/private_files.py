"""Folders and files of the service that only its own user may read, and folders that nobody else may write."""

import os
import stat
from pathlib import Path

_OTHERS = 0o077  # the permissions of the group and of all other users
_ABOVE = 0o755  # of folders that are made on the way, less the umask: a umask of 002 would let a group write


def make_folder(path: Path, mode: int) -> None:
    """Make the folder with this mode, whatever the umask; an existing one stays as it is. May raise OSError."""
    try:
        path.mkdir(0o700)
    except FileNotFoundError:
        for above in reversed(path.parents):
            if not above.is_dir():
                above.mkdir(_ABOVE, exist_ok=True)
        path.mkdir(0o700, exist_ok=True)
    except FileExistsError:
        if not path.is_dir():
            raise
        return
    if mode != 0o700:
        path.chmod(mode | path.stat().st_mode & stat.S_ISGID)  # the group of the folder above, if that says so


def make_private_folder(path: Path) -> None:
    """Make the folder with mode 0700, or remove the others' permissions from an existing one.

    Raise OSError if the folder cannot be made.
    """
    make_folder(path, 0o700)
    make_private(path)


def make_private_file(path: Path) -> None:
    """Make an empty file with mode 0600, or remove the others' permissions from an existing one.

    Raise OSError if the file cannot be made.
    """
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:  # not opened, because a close would end this process's locks on the file (POSIX)
        make_private(path)


def make_private(path: Path, denied: int = _OTHERS) -> None:
    """Remove the others' permissions, or those of `denied`, from a file or folder; do nothing if it is absent.

    A folder that is not the service's alone stays as it is: another user's, one with the sticky bit (/tmp), and the
    user's home or a folder above it.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    user_home = Path(os.path.expanduser("~")).resolve()
    is_shared = status.st_mode & stat.S_ISVTX or path.resolve() in (user_home, *user_home.parents)
    if status.st_mode & denied and status.st_uid == os.geteuid() and not is_shared:
        path.chmod(stat.S_IMODE(status.st_mode) & ~denied)
