"""The files of a folder without git: all of them, without caches and homes of services."""

import os
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

from bigbatch.snapshot.errors import SnapshotError
from bigbatch.snapshot.homes import is_home
from contract.snapshot.manifest import MAX_FILES

CACHES = frozenset(
    {
        *("__pycache__", ".git", ".hg", ".svn", ".venv", "venv", "node_modules", ".tox", ".nox", ".eggs", ".cache"),
        *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".ipynb_checkpoints", ".bigbatch", ".DS_Store"),
    }
)
CACHE_FILES = ("*.pyc", "*.pyo", "*.swp", "*~")


def list_files(root: Path) -> list[str]:
    """Return the paths of all files and links below the folder, without caches; raise SnapshotError for too many."""
    if root in (Path(root.anchor), Path(os.path.expanduser("~")).resolve()):  # without a home: a folder called ~
        raise SnapshotError(f"{root} is no project: take the snapshot of a folder with the program alone")
    found: list[str] = []
    for name in _walk(root):
        found.append(name)
        if len(found) > MAX_FILES:
            reason = "make it a git repository whose .gitignore names the data, or move the data"
            raise SnapshotError(f"{root} has more than {MAX_FILES:,} files, the limit of a snapshot: {reason}")
    return sorted(found)


def _walk(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        above = os.path.relpath(folder, root)
        prefix = "" if above == "." else f"{above}/"
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = [name for name in folders if name not in CACHES and not _is_left_out(os.path.join(folder, name))]
        for name in [*names, *links]:
            if name not in CACHES and not any(fnmatch(name, pattern) for pattern in CACHE_FILES):
                yield f"{prefix}{name}"


def _is_left_out(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "pyvenv.cfg")) or is_home(folder)
