"""Files that are complete or absent after any crash, also if two processes write the same file at the same time."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

DRAFT = ".draft"  # the end of names that a crash may leave
_open_drafts: set[Path] = set()  # of this process


def write_durably(path: Path, content: bytes) -> None:
    """Create or replace a file: no reader sees a part of it, and it is on the disk when the call returns.

    Each writer has a draft of its own: of two writers of the same content, none sees the other.
    """
    with _draft_of(path) as draft:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)


def write_once(path: Path, content: bytes, *, sync: bool = True) -> bool:
    """Create a file with all its content unless it exists; return whether this call created it.

    A hard link is made at most once, also on NFS. `sync`: whether the content is on the disk then.
    """
    with _draft_of(path) as draft:
        with draft.open("xb") as file:
            file.write(content)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
    return True


@contextmanager
def _draft_of(path: Path) -> Iterator[Path]:
    """Give the path of a draft in the folder of a file, which this makes; delete the draft at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{token_hex(8)}{DRAFT}")
    _open_drafts.add(draft)
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)
        _open_drafts.discard(draft)


def remove_own_drafts() -> None:
    """Delete the drafts of this process, which is about to end at once in the midst of a write."""
    for draft in list(_open_drafts):
        draft.unlink(missing_ok=True)


def sync_folders(folders: set[Path]) -> None:
    """Put the entries of folders on the disk; otherwise a power cut undoes a rename."""
    for folder in folders:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def remove_drafts(root: Path, *, older_than_s: float = 0.0) -> None:
    """Delete what killed processes left below a folder; newer drafts may be those of a process that writes there."""
    for draft in root.rglob(f".*{DRAFT}"):
        with suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime >= older_than_s:
                draft.unlink()
