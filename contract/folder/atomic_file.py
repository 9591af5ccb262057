"""Atomic file writes: a reader sees the whole file or no file, also after a crash and on a shared file system."""

import os
from pathlib import Path
from secrets import token_hex
from typing import IO


def write_exclusive(path: Path, text: str) -> bool:
    """Create a file with all its text, unless the file exists. Return whether this call created the file."""
    draft = _write_draft(path, text)
    try:
        os.link(draft, path)  # a hard link is created at most once, also on NFS
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def write_atomic(path: Path, text: str) -> None:
    """Create or replace a file: readers and crashes never see a part of the text."""
    _write_draft(path, text).replace(path)


def write_synced(file: IO[str], text: str) -> None:
    """Write `text` and return after the text is on the disk."""
    file.write(text)
    file.flush()
    os.fsync(file.fileno())


def _write_draft(path: Path, text: str) -> Path:
    draft = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        with draft.open("w") as file:
            write_synced(file, text)  # the text reaches the disk before its final name, also if power fails
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft
