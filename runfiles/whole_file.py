"""Files that are written as a whole: a reader sees all of the text or no file, also after a crash and on NFS.

Each function takes an open folder, as the parameter `dir_fd` of the functions of `os`, and a name in it; no link in
place of the file is followed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from secrets import token_hex

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MARK = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def create(parent: int, name: str, text: str, *, mode: int = 0o666) -> bool:
    """Create a file with all its text, unless the name exists; return whether this call created the file.

    The file never has more permissions than `mode`, at no moment.
    """
    draft = _write_draft(parent, name, text, mode)
    try:  # a hard link is created at most once, also on NFS
        os.link(draft, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
    except FileExistsError:
        return False
    finally:
        os.unlink(draft, dir_fd=parent)
    return True


def replace(parent: int, name: str, text: str, *, mode: int = 0o666) -> None:
    """Create or replace a file with the permissions `mode`, less the umask; may raise OSError."""
    draft = _write_draft(parent, name, text, mode)
    try:
        os.replace(draft, name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        _remove(parent, draft)
        raise


def write_new(parent: int, name: str, text: str, *, mode: int = 0o666) -> None:
    """Create a file, and return after the text is on the disk; raise FileExistsError if the name exists.

    A crash may leave a part of the text.
    """
    with os.fdopen(os.open(name, _NEW, mode, dir_fd=parent), "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def touch(parent: int, name: str) -> None:
    """Renew the modification time of a file, or create the file."""
    try:
        os.utime(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        os.close(os.open(name, _MARK, 0o666, dir_fd=parent))


def _write_draft(parent: int, name: str, text: str, mode: int) -> str:
    draft = f".{name}.{token_hex(8)}"
    try:
        write_new(parent, draft, text, mode=mode)  # the text reaches the disk before its final name
    except OSError:
        _remove(parent, draft)
        raise
    return draft


def _remove(parent: int, draft: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(draft, dir_fd=parent)
