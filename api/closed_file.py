"""Closed files: what to say of a file below the folders of runs that this process has no permission to read."""

import os
import stat
from pathlib import Path

from contract.access.owners import user_name

CLOSED = "the run has closed it (permission denied)"
# short, since a message is cut after 400 characters and the path before it may be long; the page has the rest
WHAT_TO_SET = "start both under one account, or set BIGBATCH_RUN_FOLDERS=group (docs/settings.md)"


class ForeignFolderError(Exception):
    """A file of a run belongs to an account that does not let this one read; the message says what to set."""


def why_closed(path: str, runs: Path) -> str | None:
    """Return why a run's file is closed to the account that owns it; None for what is no file of a run.

    Raise ForeignFolderError if another account owns what is closed.
    """
    if not Path(path).is_relative_to(runs) or Path(path) == runs:
        return None
    names = Path(path).relative_to(runs).parts
    if names[0].startswith("."):  # the service's own, such as .snapshots
        return None
    closed = _find_closed([runs.joinpath(*names[:depth]) for depth in range(len(names) + 1)])
    if closed is None:
        return None
    place, status = closed
    if status.st_uid == os.geteuid():
        return None if place == runs else CLOSED
    owner, me, mode = user_name(status.st_uid), user_name(os.geteuid()), stat.S_IMODE(status.st_mode)
    belongs = f"{place} belongs to the user {owner}, has the mode {mode:04o}, and the API runs as the user {me}"
    raise ForeignFolderError(f"{belongs}: {WHAT_TO_SET}")


def _find_closed(places: list[Path]) -> tuple[Path, os.stat_result] | None:
    """Return the last of the places, each in the one before, that can be examined, with its status: nothing in it can.

    None: not even the first can be examined, so what is closed is above it.
    """
    found = None
    for place in places:
        try:
            found = place, place.lstat()
        except OSError:
            return found
    return found
