"""The removal of what no snapshot needs: manifests, contents and trees that are older than the time of grace.

Uploads and submissions go on meanwhile. Each of them first renews the modification time of what it relies on. The
collection first moves a file away and then reads its time: a file that was renewed before is moved back, and an upload
that comes later finds the file absent and sends it again. Nothing is locked, and a collection may be killed anywhere.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_hex

from contract.folder.files import untrusted_file
from contract.folder.files.untrusted_file import UnreadableFileError, open_folder
from contract.snapshot.blob_store import GRACE_S, BlobStore, DamagedError
from contract.snapshot.code_tree import CODE, remove_tree

HEX = re.compile(r"[0-9a-f]{64}")
DRAFT = re.compile(r"\.[0-9a-f]{64}(\.json)?\.[0-9a-f]{16}")
Progress = Callable[[], None]


def remove_garbage(store: BlobStore, is_stored: Callable[[str], bool], progress: Progress) -> int:
    """Remove old manifests that are not stored, and old contents that no manifest needs; return their number.

    Raise OSError at the end if some could not be removed.
    """
    if not store.root.is_dir():
        return 0
    removals = _Removals()
    for name in _names(store, "manifests"):
        progress()
        if not is_stored(name.removesuffix(".json")):
            removals.do(partial(_remove_old, store, f"manifests/{name}"))
    needed = _needed(store, progress)
    for folder in untrusted_file.list_folder(store.root, "blobs"):
        progress()
        for name in _names(store, f"blobs/{folder}"):
            if name not in needed:
                removals.do(partial(_remove_old, store, f"blobs/{folder}/{name}"))
    for name in untrusted_file.list_folder(store.root, "trash"):  # of a collection that was killed
        removals.do(partial(_remove_old, store, f"trash/{name}"))
    return removals.end()


def remove_trees(runs_folder: Path, needed: Set[str], progress: Progress) -> int:
    """Remove old trees that no open run needs, and trees that were never completed; return their number.

    Raise OSError at the end if some could not be removed.
    """
    removals = _Removals()
    for name in untrusted_file.list_folder(runs_folder, CODE):
        progress()
        is_tree = HEX.fullmatch(name) is not None
        if (is_tree and name not in needed) or DRAFT.fullmatch(name):
            removals.do(partial(_remove_old_tree, runs_folder / CODE, name, is_tree=is_tree))
    return removals.end()


class _Removals:
    """Removals one after another: one that fails holds up no other."""

    def __init__(self) -> None:
        self._removed, self._faults = 0, list[OSError]()

    def do(self, remove: Callable[[], bool]) -> None:
        try:
            self._removed += remove()
        except OSError as error:
            self._faults.append(error)

    def end(self) -> int:
        """Return how many succeeded; raise OSError if one failed."""
        if self._faults:
            raise OSError(f"{len(self._faults):,} of them cannot be, such as: {self._faults[0]}")
        return self._removed


def _names(store: BlobStore, folder: str) -> Iterator[str]:
    """Yield the names of manifests or contents, and of those that were never completed."""
    for name in untrusted_file.list_folder(store.root, folder):
        if HEX.fullmatch(name.removesuffix(".json")) or DRAFT.fullmatch(name):
            yield name


def _needed(store: BlobStore, progress: Progress) -> set[str]:
    """Return the hashes of the contents that manifests need; a damaged manifest can be run by nobody."""
    needed: set[str] = set()
    for name in _names(store, "manifests"):
        progress()
        with suppress(DamagedError):
            needed.update(store.read_manifest(name.removesuffix(".json")).sizes)
    return needed


def _remove_old(store: BlobStore, name: str) -> bool:
    """Remove a file that nobody has renewed within the time of grace; return whether it was removed."""
    try:
        if _is_young(untrusted_file.stat_file(store.root, name)):
            return False
    except (FileNotFoundError, UnreadableFileError):
        return False
    above, _, leaf = name.rpartition("/")
    moved = f"{leaf}.{token_hex(8)}"
    with open_folder(store.root, above) as folder, open_folder(store.root, "trash") as trash:
        try:
            os.rename(leaf, moved, src_dir_fd=folder, dst_dir_fd=trash)
        except FileNotFoundError:
            return False  # another worker collects too
        if _is_young(os.stat(moved, dir_fd=trash, follow_symlinks=False)):  # renewed since it was read above
            with suppress(FileExistsError):
                os.link(moved, leaf, src_dir_fd=trash, dst_dir_fd=folder, follow_symlinks=False)
            os.unlink(moved, dir_fd=trash)
            return False
        os.unlink(moved, dir_fd=trash)
    return True


def _remove_old_tree(above: Path, name: str, *, is_tree: bool) -> bool:
    moved = above / (f".{name}.{token_hex(8)}" if is_tree else name)
    try:
        if _is_young(os.lstat(above / name)):
            return False
        if is_tree:
            os.rename(above / name, moved)
            if _is_young(os.lstat(moved)):  # a submission has renewed it since it was read above
                os.rename(moved, above / name)
                return False
    except FileNotFoundError:
        return False
    remove_tree(moved)
    return True


def _is_young(status: os.stat_result) -> bool:
    return time.time() - status.st_mtime < GRACE_S
