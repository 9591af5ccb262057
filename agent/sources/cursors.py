"""The file of cursors of all sources, attempts/sources.json: the next attempt of the run continues from them."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

from runfiles.regular_file import open_regular

NAME = os.path.join("attempts", "sources.json")
MAX_BYTES = 1 << 22


def read_cursors(run_folder: str) -> dict[str, dict[str, Any]]:
    """Return the cursors of each source by its key; none if the file is absent or damaged."""
    try:
        with open_regular(os.path.join(run_folder, NAME), follow_links=False) as file:
            stored = json.loads(file.read(MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(stored, dict):
        return {}
    return {key: cursors for key, cursors in stored.items() if isinstance(cursors, dict)}


def write_cursors(run_folder: str, cursors: dict[str, dict[str, Any]]) -> None:
    """Store the cursors: a reader sees the old file or the new one, also after a crash. May raise OSError."""
    path = os.path.join(run_folder, NAME)
    draft = f"{path}.{os.getpid()}"
    try:
        with open(draft, "w", encoding="utf-8") as file:
            json.dump(cursors, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            os.unlink(draft)
        raise
