"""The version of a file that a schedule follows: its identity, size and moment of change."""

import os
import stat
from pathlib import Path


class FileOutsideError(ValueError):
    """The file leads out of the folders that the service may look at."""


def file_version(path: str, roots: tuple[Path, ...]) -> str | None:
    """Return the version of a regular file; None if there is none. Raise FileOutsideError, or OSError."""
    folder = Path(os.path.realpath(Path(path).parent))
    if not any(folder.is_relative_to(os.path.realpath(root)) for root in roots):
        raise FileOutsideError(f"{path} is not below a folder of BIGBATCH_TRIGGER_FOLDERS")
    try:
        found = os.lstat(folder / Path(path).name)  # a link to another place is no file
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"
