"""Atomic file writes: a reader sees the whole file or no file, also after a crash and on a shared file system.

A name is below its folder, and no component of the name may be a link (contract/folder/files/untrusted_file).
"""

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from contract.folder.files.untrusted_file import open_folder

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_exclusive(folder: Path, name: str, text: str, *, mode: int = 0o666) -> bool:
    """Create a file with all its text, unless the file exists. Return whether this call created the file.

    The file never has more permissions than `mode`, at no moment.
    """
    above, _, leaf = name.rpartition("/")
    with open_folder(folder, above) as parent:
        draft = _write_draft(parent, leaf, text, mode)
        try:  # a hard link is created at most once, also on NFS
            os.link(draft, leaf, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
        except FileExistsError:
            return False
        finally:
            os.unlink(draft, dir_fd=parent)
    return True


def write_atomic(folder: Path, name: str, text: str, *, mode: int = 0o666) -> None:
    """Create or replace a file with the permissions `mode`, less the umask: no reader sees a part of the text."""
    above, _, leaf = name.rpartition("/")
    with open_folder(folder, above) as parent:
        os.replace(_write_draft(parent, leaf, text, mode), leaf, src_dir_fd=parent, dst_dir_fd=parent)


def write_new(folder: Path, name: str, text: str) -> None:
    """Create a file; raise FileExistsError if the name exists. A crash may leave a part of the text."""
    above, _, leaf = name.rpartition("/")
    with open_folder(folder, above) as parent:
        _write_synced(parent, leaf, text)


def _write_draft(parent: int, leaf: str, text: str, mode: int = 0o666) -> str:
    draft = f".{leaf}.{token_hex(8)}"
    try:
        _write_synced(parent, draft, text, mode)  # the text reaches the disk before its final name, also if power fails
    except OSError:
        with suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=parent)
        raise
    return draft


def _write_synced(parent: int, leaf: str, text: str, mode: int = 0o666) -> None:
    """Create a file, and return after the text is on the disk."""
    with os.fdopen(os.open(leaf, _NEW, mode, dir_fd=parent), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
