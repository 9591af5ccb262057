"""What .gitignore keeps out of a snapshot: a program may need it, as the data in `data/`."""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from bigbatch.snapshot.plain_tree import CACHE_FILES, CACHES

MOST_SHOWN = 5
MOST_SEEN = 20_000  # files that are counted, the same number of each ignored file or folder
GENERATED = ("*.egg-info", "build", "dist", "htmlcov", ".coverage", ".env*", ".idea", ".vscode")


def describe_ignored(root: Path, names: Sequence[str]) -> list[str]:
    """Return "data/ (2 files, 3.0 MB)" for the largest of the ignored files and folders.

    Caches, environments of Python and what builds make are no loss for a program.
    """
    needed = [name for name in names if not _is_needless(root, name)]
    most = max(1, MOST_SEEN // max(1, len(needed)))
    measured = [(name, *_measure(root / name, most)) for name in needed]
    found = sorted((one for one in measured if one[1]), key=lambda one: (-one[2], one[0]))
    shown = [f"{name} ({'over ' if cut else ''}{_count(files)}, {_size(size)})" for name, files, size, cut in found]
    more = [f"{len(shown) - MOST_SHOWN:,} more"] if len(shown) > MOST_SHOWN else []
    return [*shown[:MOST_SHOWN], *more]


def _is_needless(root: Path, name: str) -> bool:
    leaf = name.rstrip("/").rpartition("/")[2]
    patterns = (*CACHES, *CACHE_FILES, *GENERATED)
    return any(fnmatch(leaf, pattern) for pattern in patterns) or (root / name / "pyvenv.cfg").exists()


def _measure(path: Path, most: int) -> tuple[int, int, bool]:
    """Return the number of files, at most `most`, their bytes, and whether there are more."""
    files = size = 0
    for file in _files(path):
        if files >= most:
            return files, size, True
        try:
            size += os.lstat(file).st_size
        except OSError:
            continue
        files += 1
    return files, size, False


def _files(path: Path) -> Iterator[str]:
    if path.is_symlink() or not path.is_dir():
        yield str(path)
        return
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names)


def _count(files: int) -> str:
    return f"{files:,} file" if files == 1 else f"{files:,} files"


def _size(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 100_000 else f"{size:,} bytes"
