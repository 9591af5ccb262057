"""The state of a run's folder: whether it is gone, and whether its events are others than those that were read.

A person, or a cleaner of scratch space, may delete the folder while the run's job runs. A shared file system may show a
folder late, or an older size of a file, so that what is missing counts only after a while.
"""

import time
from enum import Enum

from pydantic import ValidationError

from contract.folder.events import event_reader
from contract.folder.files.untrusted_file import UnreadableFileError, open_file, open_folder, stat_file
from contract.folder.record import read_record
from contract.folder.run_folder import EVENTS, RunFolder
from contract.lifecycle.state import State
from scheduler.context import Context
from store.runs import LiveRun

MISSING_S = 60.0  # as long as a shared file system may show an older state (scheduler/outcome/exit_cause.py: LINGER)
FIRST_BYTES = 1 << 14  # of a file, in which its first event is


class FolderState(Enum):
    USUAL = "usual"
    REPLACED = "replaced"  # the events that were read are no longer there: the file is read from its beginning
    GONE = "gone"  # and so is the folder


def folder_state(context: Context, folder: RunFolder, run: LiveRun, *, has_grown: bool) -> FolderState:
    """Return the state of the folder of a run whose events were read before; USUAL for any other run."""
    missing = context.memory.missing_since
    is_shorter = not has_grown and run.cursor > 0 and _is_shorter(folder, run.cursor)
    if not is_shorter:
        missing.pop(run.id, None)
    begins = run.cursor > 0 and run.attempt > 1 and (is_shorter or run.state is State.PENDING)
    if begins and _begins_with(folder, run.attempt):
        return FolderState.REPLACED
    if not is_shorter:
        return FolderState.USUAL
    if time.monotonic() - missing.setdefault(run.id, time.monotonic()) < MISSING_S:
        return FolderState.USUAL
    missing.pop(run.id, None)
    return FolderState.GONE if is_folder_gone(folder) else FolderState.REPLACED


def _is_shorter(folder: RunFolder, cursor: int) -> bool:
    try:
        return stat_file(folder.path, EVENTS).st_size < cursor
    except FileNotFoundError:
        return True
    except UnreadableFileError:  # the run ends by that (scheduler/events/uncollected.py)
        return False


def is_folder_gone(folder: RunFolder) -> bool:
    """Return whether the folder is not there; raise OSError if its file system does not answer."""
    try:
        with open_folder(folder.path):
            return False
    except FileNotFoundError:
        return True
    except UnreadableFileError:  # something is in its place
        return False


def _begins_with(folder: RunFolder, attempt: int) -> bool:
    """Return whether the first event of the file is of this attempt: those of the attempts before it are gone."""
    try:
        with open_file(folder.path, EVENTS) as file:
            lines = file.read(0, FIRST_BYTES).splitlines(keepends=True)
        return bool(lines) and lines[0].endswith(b"\n") and read_record(event_reader, lines[0]).attempt == attempt
    except (FileNotFoundError, UnreadableFileError, ValidationError):
        return False
