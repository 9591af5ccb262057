"""The job that carries out an attempt, as the run's folder shows it, for a database that does not know the job."""

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from contract.folder.files.untrusted_file import UnreadableFileError, list_folder
from contract.folder.run_folder import ABANDONED, UNREADABLE, RunFolder
from contract.folder.service_records import JOB_NAME, RUN_FOLDER

_HOLDER = re.compile(r"([0-9]{1,18}(?:_([0-9]{1,9}))?)(?: \(member ([0-9]{1,9})\))?(?: \((?:restart|start|step) .*\))?")


class ClaimedJob(NamedTuple):
    """The latest attempt of a run that a job has claimed, or may not claim any more."""

    attempt: int
    name: str  # of the submission
    external_id: str | None  # None: the attempt was given up, or its claim cannot be read
    array_task: int | None = None
    pack_member: int | None = None


def find_claimed_job(root: Path, folder: RunFolder) -> ClaimedJob | None:
    """Return the job of the latest attempt in a run's folder; None before the first. May raise OSError."""
    try:
        attempt = folder.latest_attempt()
    except (FileNotFoundError, UnreadableFileError):
        return None
    match = RUN_FOLDER.fullmatch(folder.path.name)
    if not attempt or match is None:
        return None
    holder, name = folder.read_claim(attempt), f"bigbatch-{match[2]}-{attempt}"
    if holder in (None, ABANDONED, UNREADABLE):
        return ClaimedJob(attempt, name, None)
    assert holder is not None
    if "@" in holder:  # of this machine: its name is a part of the id
        return ClaimedJob(attempt, holder.rpartition("@")[0], holder)
    found = _HOLDER.fullmatch(holder)
    if found is None:
        return ClaimedJob(attempt, name, None)
    task, member = (None if one is None else int(one) for one in (found[2], found[3]))
    name = _script_name(folder, attempt) or _array_name(root, folder, attempt, task, member) or name
    return ClaimedJob(attempt, name, found[1], task, member)


def _script_name(folder: RunFolder, attempt: int) -> str | None:
    with suppress(FileNotFoundError, UnreadableFileError):
        names = [name.removesuffix(".sh") for name in list_folder(folder.path, "submission") if name.endswith(".sh")]
        return next((name for name in sorted(names, reverse=True) if _is_of(name, attempt)), None)
    return None


def _array_name(root: Path, folder: RunFolder, attempt: int, task: int | None, member: int | None) -> str | None:
    """Return the name of the array whose task carries out the run."""
    if task is None:
        return None
    place = str(task) if member is None else f"{task}/{member}"
    with suppress(FileNotFoundError, UnreadableFileError):
        for name in list_folder(root, "arrays"):
            with suppress(OSError):
                target = os.readlink(root / "arrays" / name / place)
                if _is_of(name, attempt) and Path(target).name == folder.path.name:
                    return name
    return None


def _is_of(name: str, attempt: int) -> bool:
    found = JOB_NAME.fullmatch(name)
    return found is not None and int(found[2]) == attempt
