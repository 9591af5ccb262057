"""The obstacle in a run's folder: what keeps this worker from reading it, although its file server answers.

A run may close its folder (chmod 000), or put a FIFO in the place of its events. Then the error of a read is a fact
about the run, as its end is, and no fault of this machine.
"""

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from contract.access.owners import user_name
from contract.folder.run_folder import EVENTS, POINTS, RunFolder

ATTEMPTS = "attempts"
NAMES = (EVENTS, ATTEMPTS, POINTS)
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


def find_obstacle(folder: RunFolder, names: Sequence[str] = NAMES) -> str | None:
    """Return what cannot be read of the folder and of these names in it, and why; None if a look shows nothing."""
    places = [(folder.path, "the run's folder", stat.S_IFDIR)]
    places += [(folder.path / name, name, stat.S_IFREG if name == EVENTS else stat.S_IFDIR) for name in names]
    return next((words for place in places if (words := _examine(*place))), None)


def _examine(path: Path, name: str, right_kind: int) -> str | None:
    needed = 0o500 if right_kind == stat.S_IFDIR else 0o400
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode) and name not in NAMES:  # a site may link the folder itself
            with suppress(NotADirectoryError):
                status = os.lstat(f"{path}/.")
        asked = os.R_OK | (os.X_OK if right_kind == stat.S_IFDIR else 0)
        is_readable = os.access(path, asked, effective_ids=os.access in os.supports_effective_ids)
    except OSError:  # it is not there, or the file server does not answer
        return None
    kind, mode = stat.S_IFMT(status.st_mode), stat.S_IMODE(status.st_mode)
    if kind != right_kind:
        return f"{name} is {KINDS.get(kind, 'a device')}"
    if is_readable or (status.st_uid == os.geteuid() and mode & needed == needed):  # the latter: the server's doubt
        return None
    of = "" if status.st_uid == os.geteuid() else f"belongs to the user {user_name(status.st_uid)} and "
    return f"{name} {of}has the mode {mode:03o}"
