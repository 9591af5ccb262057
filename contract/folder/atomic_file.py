"""Files that are there whole or not at all, also after a crash and on a shared file system."""

import os
from pathlib import Path
from secrets import token_hex
from typing import IO


def write_once(path: Path, text: str) -> bool:
    """Write a whole file unless it is there; say whether it was written."""
    draft = _drafted(path, text)
    try:
        os.link(draft, path)  # whole or not at all, and once: also on NFS
    except FileExistsError:
        return False
    finally:
        draft.unlink()
    return True


def write(path: Path, text: str) -> None:
    """Write a whole file or none: a reader never sees half of it, a crash never leaves half of it."""
    _drafted(path, text).replace(path)


def _drafted(path: Path, text: str) -> Path:
    draft = path.with_name(f".{path.name}.{token_hex(8)}")
    try:
        with draft.open("w") as file:
            put(file, text)  # its bytes are there before its name is, though the power should go
    except OSError:
        draft.unlink(missing_ok=True)
        raise
    return draft


def put(file: IO[str], text: str) -> None:
    """Write it down to the disk."""
    file.write(text)
    file.flush()
    os.fsync(file.fileno())
