"""The working folder of a run with a code snapshot: RUN/work, a tree of the run's own, the same for all attempts.

The tree of the snapshot is shared by all runs with this code, and nobody may write into it. A program writes beside its
source all the same: `ckpt.pt`, `outputs/`, a folder found by `Path(__file__).resolve().parent`. So the run gets copies
of the small files, which lead nowhere else, and links to the large ones, which are read alone.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

WORK = "work"
LINKED_BYTES = 1 << 20  # a larger file is a link to the snapshot's
COPIED_BYTES = 32 << 20  # of all copies; beyond it the largest files are links
WRITERS = 8  # a shared file system is slow for one writer and fast for several
# The modification time of a copy, by which the service tells it from what the program wrote (api/files). Archives of
# the format zip know no time before 1980.
COPIED_AT_NS = 315_619_200 * 10**9  # 1980-01-02


class _Entry(NamedTuple):
    path: str  # in the tree
    size: int


def working_folder_of(spec: Mapping[str, Any], folder: Path) -> str:
    """Return the folder in which the ranks start: the spec's, the run's copy of the code snapshot, or the run's."""
    if spec.get("working_folder"):
        return str(spec["working_folder"])
    if spec.get("code"):
        return os.path.join(folder, WORK, spec.get("subfolder") or "").rstrip("/")
    return str(folder)


def make_work_folder(spec: Mapping[str, Any], folder: Path) -> None:
    """Make RUN/work from the tree of the code snapshot, unless an attempt has made it; raise OSError.

    The folder gets its name last, so an agent that is killed meanwhile leaves a draft, which the next one removes.
    """
    work = folder / WORK
    if not spec.get("code") or os.path.lexists(work):
        return
    for left in folder.glob(f".{WORK}.*"):
        shutil.rmtree(left, ignore_errors=True)
    tree, draft = folder.parent / ".code" / spec["code"], folder / f".{WORK}.{token_hex(8)}"
    draft.mkdir()
    try:
        _fill(draft, tree)
        os.rename(draft, work)
    except OSError:
        shutil.rmtree(draft, ignore_errors=True)
        if not work.is_dir():  # else an agent of a later attempt was first
            raise


def _fill(draft: Path, tree: Path) -> None:
    """Fill a folder with the tree's folders, the copies of its small files, and links."""
    files, left = [], COPIED_BYTES
    for path, entry in _entries(tree):
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), draft / path)
        elif entry.is_dir():
            os.mkdir(draft / path)
        else:
            files.append(_Entry(path, entry.stat(follow_symlinks=False).st_size))
    copied = []
    for path, size in sorted(files, key=lambda file: file.size):
        left -= size
        if size > LINKED_BYTES or left < 0:
            os.symlink(tree / path, draft / path)
        else:
            copied.append(path)
    with ThreadPoolExecutor(WRITERS) as writers:  # which end here, before a rank is forked
        list(writers.map(lambda path: _copy(tree / path, draft / path), copied))


def _entries(tree: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the entries of a tree with their paths in it, each folder before what it has."""
    folders = [""]
    while folders:
        below = folders.pop()
        with os.scandir(tree / below) as entries:
            for entry in entries:
                path = f"{below}/{entry.name}".lstrip("/")
                yield path, entry
                if entry.is_dir(follow_symlinks=False):
                    folders.append(path)


def _copy(source: Path, target: Path) -> None:
    shutil.copyfile(source, target, follow_symlinks=False)
    with suppress(OSError):  # a file system without modes still has the content
        os.chmod(target, os.stat(source).st_mode & 0o777 | 0o600)
    os.utime(target, ns=(COPIED_AT_NS, COPIED_AT_NS))
