"""The working folder of a run with a code snapshot: RUN/work, a tree of the run's own, the same for all attempts.

The tree of the snapshot is shared by all runs with this code, and nobody may write into it. A program writes beside its
source all the same: `ckpt.pt`, `outputs/`, a folder found by `Path(__file__).resolve().parent`. So the run gets copies,
which lead nowhere else. Only beyond MAX_COPIES files or COPIED_BYTES the largest files are links, for reading.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any, Callable, NamedTuple

WORK = "work"
COPIED = "attempts/work.copied"  # the paths of the copies, one in each line
COPIED_BYTES = 256 << 20  # more than a snapshot may have by default
MAX_COPIES = 5_000
WRITERS, PORTION = 8, 64  # a shared file system is slow for one writer and fast for several
# The modification time of a copy, by which the service tells it from what the program wrote
# (contract/folder/written_files.py). Archives of the format zip know no time before 1980.
COPIED_AT_NS = 315_619_200 * 10**9  # 1980-01-02


class Abandoned(Exception):
    """The attempt shall end before its working folder is there."""


class _File(NamedTuple):
    path: str  # in the tree
    size: int


def working_folder_of(spec: Mapping[str, Any], folder: Path) -> str:
    """Return the folder in which the ranks start: the spec's, the run's copy of the code snapshot, or the run's."""
    if spec.get("working_folder"):
        return str(spec["working_folder"])
    if spec.get("code"):
        return os.path.join(folder, WORK, spec.get("subfolder") or "").rstrip("/")
    return str(folder)


def make_work_folder(spec: Mapping[str, Any], folder: Path, goes_on: Callable[[], bool] = lambda: True) -> bool:
    """Make RUN/work from the tree of the code snapshot, unless an attempt has made it; return whether it is new.

    The folder gets its name last, so an agent that is killed meanwhile leaves a draft, which the next one removes.
    `goes_on` is called every now and then; raise Abandoned once it is false. Raise OSError.
    """
    work = folder / WORK
    if not spec.get("code") or os.path.lexists(work):
        return False
    for left in folder.glob(f".{WORK}.*"):
        shutil.rmtree(left, ignore_errors=True)
    tree, draft = folder.parent / ".code" / spec["code"], folder / f".{WORK}.{token_hex(8)}"
    draft.mkdir()
    try:
        copied = _fill(draft, tree, goes_on)
        (folder / "attempts").mkdir(exist_ok=True)
        (folder / COPIED).write_text("".join(f"{path}\n" for path in copied), encoding="utf-8")
        os.rename(draft, work)
    except (OSError, Abandoned):
        shutil.rmtree(draft, ignore_errors=True)
        if not work.is_dir():  # else an agent of a later attempt was first
            raise
        return False
    return True


def _fill(draft: Path, tree: Path, goes_on: Callable[[], bool]) -> Sequence[str]:
    """Fill a folder with the tree's folders, copies of its files, and links; return the paths of the copies."""
    files, left = [], COPIED_BYTES
    for path, entry in _entries(tree):
        if entry.is_symlink():
            os.symlink(os.readlink(entry.path), draft / path)
        elif entry.is_dir():
            os.mkdir(draft / path)
        else:
            files.append(_File(path, entry.stat(follow_symlinks=False).st_size))
    copied: list[str] = []
    for path, size in sorted(files, key=lambda file: file.size):
        left -= size
        if left < 0 or len(copied) >= MAX_COPIES:
            os.symlink(tree / path, draft / path)
        else:
            copied.append(path)
    with ThreadPoolExecutor(WRITERS) as writers:  # which end here, before a rank is forked
        for start in range(0, len(copied), PORTION):
            if not goes_on():
                raise Abandoned
            list(writers.map(lambda path: _copy(tree / path, draft / path), copied[start : start + PORTION]))
    return copied


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
