"""The checkpoints of a run folder, as far as their names show: read by the API, which loads no tensors."""

import re
from pathlib import Path
from typing import NamedTuple

from contract.folder.files.untrusted_file import list_folder, size_of

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
    named = [(match, name) for name in list_folder(folder, FOLDER, MOST) if (match := NAME.fullmatch(name))]
    found = sorted((StoredCheckpoint(int(match[1]), int(match[2]), name) for match, name in named), reverse=True)
    return next((one for one in found if size_of(folder, f"{FOLDER}/{one.name}/{MANIFEST}")), None)
