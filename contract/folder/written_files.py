"""What a program wrote into its run's folder: its files, and the numbers of the jobs that it submitted itself.

The service's own files do not count, nor what the agent copied from the code snapshot (agent/program/work_folder.py).
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from contract.folder.files.untrusted_file import UnreadableFileError, list_folder, list_status, read_file

# of the service, the agent, `bigbatch.log` and the engine; `checkpoints` is the program's
OWN = frozenset(
    {
        *("spec.json", "events.jsonl", "out.log", "times.csv", "collective.json", "binding.json", "chunks.json"),
        *("lost.jsonl", "outputs.json", "parameters.json", "parameters.yaml"),
        *("attempts", "points", "times", "bad-images", "volume", "submission"),
    }
)
WORK = "work"
COPIED_AT = 315_619_200  # the modification time of a copy from the code snapshot, until the program changes it
COPIED, COPIED_BYTES = "attempts/work.copied", 8 << 20  # the list of the copies' paths
CACHES = frozenset({"__pycache__", ".ipynb_checkpoints"})
MOST_SEEN = 50_000  # entries of the folders that are looked at
MAX_DEPTH = 40
JOBS_BYTES, MAX_JOBS, MAX_ATTEMPTS = 1 << 16, 1_000, 100_000
_JOBS = re.compile(r"([1-9][0-9]{0,8})\.jobs")
_JOB = re.compile(r"([0-9]{1,18}) ([0-9]{1,11})")


class WrittenFile(NamedTuple):
    """A file below the run's folder."""

    path: str
    size_bytes: int
    written_at: float


class WrittenFiles(NamedTuple):
    """The newest files, their number and size, and whether the folders have more than was looked at."""

    newest: list[WrittenFile]
    total: int
    size_bytes: int
    is_cut: bool


class SubmittedJob(NamedTuple):
    """A job that the program submitted itself, by Slurm's number."""

    id: int
    submitted_at: float


def is_written_path(path: str) -> bool:
    """Return whether a path below the run's folder can be one of the program's files."""
    first = path.partition("/")[0]
    return first not in OWN and not first.startswith(f".{WORK}.")


def list_written_files(folder: Path, most: int) -> WrittenFiles:
    """Return the newest `most` files; no link is followed, and only regular files count."""
    found, seen = [], 0
    for file in _files(folder):
        seen += 1
        if file is not None:
            found.append(file)
        if seen >= MOST_SEEN:
            break
    found.sort(key=lambda file: (-file.written_at, file.path))
    size = sum(file.size_bytes for file in found)
    return WrittenFiles(found[:most], len(found), size, seen >= MOST_SEEN)


def read_submitted_jobs(folder: Path) -> list[SubmittedJob]:
    """Return the jobs that the program submitted in all attempts, the newest first."""
    found: dict[int, SubmittedJob] = {}
    for name in list_folder(folder, "attempts", MAX_ATTEMPTS):
        if _JOBS.fullmatch(name):
            with suppress(FileNotFoundError, UnreadableFileError):
                lines = read_file(folder, f"attempts/{name}", JOBS_BYTES).decode("utf-8", "replace").splitlines()
                jobs = [SubmittedJob(int(one[1]), float(one[2])) for one in map(_JOB.fullmatch, lines) if one]
                found |= {job.id: job for job in jobs}
    return sorted(found.values(), key=lambda job: (-job.submitted_at, -job.id))[:MAX_JOBS]


def _files(folder: Path) -> Iterator[WrittenFile | None]:
    """Yield each file of the program, and None for an entry that is none."""
    folders, copied = [""], _read_copied(folder)
    while folders:
        below = folders.pop()
        for name, status in _list(folder, below).items():
            path = f"{below}/{name}".lstrip("/")
            if not below and not is_written_path(name):
                continue
            is_file = _is_text(name) and stat.S_ISREG(status.st_mode)
            if is_file and not (status.st_mtime == COPIED_AT and path in copied):
                yield WrittenFile(path, status.st_size, status.st_mtime)
                continue
            yield None
            if stat.S_ISDIR(status.st_mode) and _is_text(name) and name not in CACHES and path.count("/") < MAX_DEPTH:
                folders.append(path)


def _list(folder: Path, below: str) -> dict[str, os.stat_result]:
    """Return the entries of a folder; none of one that the program has closed to the service."""
    try:
        return list_status(folder, below, MOST_SEEN)
    except PermissionError:
        return {}


def _read_copied(folder: Path) -> frozenset[str]:
    try:
        text = read_file(folder, COPIED, COPIED_BYTES).decode("utf-8", "replace")
    except (FileNotFoundError, UnreadableFileError):
        return frozenset()
    return frozenset(f"{WORK}/{line}" for line in text.splitlines())


def _is_text(name: str) -> bool:
    """Return whether a name can be sent: it is UTF-8 without control characters."""
    try:
        os.fsencode(name).decode()
    except UnicodeDecodeError:
        return False
    return name.isprintable()
