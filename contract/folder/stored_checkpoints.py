"""The checkpoints of a run folder, as far as their names show: read by the API, which loads no tensors."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from contract.folder.files.untrusted_file import list_folder, list_status, size_of

# as trainers/checkpoints/checkpoint_directory.py writes them, whose libraries import no contract
NAME = re.compile(r"step-(\d{10})-attempt-(\d{1,9})")
FOLDER, MANIFEST = "checkpoints", "manifest.json"
MOST = 10_000  # names that are read; a run has a few


class StoredCheckpoint(NamedTuple):
    """A complete checkpoint."""

    step: int
    attempt: int
    name: str


def newest_checkpoint(folder: Path) -> StoredCheckpoint | None:
    """Return the newest complete checkpoint of a run folder; None without any. May raise OSError."""
    return next(complete_checkpoints(folder), None)


def complete_checkpoints(folder: Path) -> Iterator[StoredCheckpoint]:
    """Yield the complete checkpoints of a run folder, the newest first. May raise OSError."""
    named = [(match, name) for name in list_folder(folder, FOLDER, MOST) if (match := NAME.fullmatch(name))]
    found = sorted((StoredCheckpoint(int(match[1]), int(match[2]), name) for match, name in named), reverse=True)
    return (one for one in found if size_of(folder, f"{FOLDER}/{one.name}/{MANIFEST}"))


class CheckpointEntry(NamedTuple):
    """A file or a folder among a run's checkpoints."""

    name: str
    checkpoint: StoredCheckpoint | None  # of the engine; None: a program wrote it
    is_complete: bool  # an engine's checkpoint without a manifest is being written, or was interrupted
    size_bytes: int  # of a file, or of the files directly in a folder
    written_at: float


def checkpoint_entries(folder: Path, most: int) -> tuple[list[CheckpointEntry], int]:
    """Return the newest entries of the folder of checkpoints, and how many there are. May raise OSError.

    An engine's damaged checkpoints are left out: the engine deletes them.
    """
    found = {name: one for name, one in list_status(folder, FOLDER, MOST).items() if not name.startswith("damaged-")}
    newest = sorted(found, key=lambda name: (found[name].st_mtime, name), reverse=True)[:most]
    return [_entry(folder, name, found[name]) for name in newest], len(found)


def _entry(folder: Path, name: str, status: os.stat_result) -> CheckpointEntry:
    match = NAME.fullmatch(name)
    checkpoint = StoredCheckpoint(int(match[1]), int(match[2]), name) if match else None
    if not stat.S_ISDIR(status.st_mode):
        return CheckpointEntry(name, checkpoint, True, status.st_size, status.st_mtime)
    files = list_status(folder, f"{FOLDER}/{name}", MOST)
    size = sum(one.st_size for one in files.values() if stat.S_ISREG(one.st_mode))
    written_at = max((one.st_mtime for one in files.values()), default=status.st_mtime)
    return CheckpointEntry(name, checkpoint, checkpoint is None or MANIFEST in files, size, written_at)
