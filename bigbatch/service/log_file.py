"""The file with the output of a part of the service: bounded while the part appends to it."""

import os
from pathlib import Path
from shutil import copyfileobj

from contract.private_files import make_private_file

MAX_BYTES = 10 << 20


def begin(log: Path) -> None:
    """Start a new file; rename that of the earlier service."""
    if log.exists():
        log.replace(_before(log))


def rotate(log: Path, max_bytes: int) -> None:
    """Move what a file of more than `max_bytes` has last to the file before it, and empty the file.

    The part has it open to append, so the file itself stays. Raise OSError, as on a full disk; the file is empty then.
    """
    with log.open("r+b") as file:
        if (size := file.seek(0, os.SEEK_END)) <= max_bytes:
            return
        file.seek(size - max_bytes)
        draft = log.with_suffix(".log.part")
        try:
            make_private_file(draft)
            with draft.open("wb") as kept:
                copyfileobj(file, kept)
            draft.replace(_before(log))
        finally:
            file.truncate(0)
            draft.unlink(missing_ok=True)


def _before(log: Path) -> Path:
    return log.with_suffix(".log.1")
