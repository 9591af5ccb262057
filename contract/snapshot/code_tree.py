"""The tree of a snapshot on the shared file system, which jobs run: RUNS/.code/HASH, complete or absent.

HASH is that of the tree's manifest, so a tree that is there is compared with its name before this process first lets a
job run it.

.code/HASH          the tree; nobody may write into it
.code/.HASH.TOKEN   a tree that is being made; left by a process that was killed, removed with the garbage
"""

import os
import stat
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

from contract.access.owners import OURS, Examined, Owners
from contract.folder.files.whole_folder import remove_folder
from contract.private_files import make_private_folder
from contract.snapshot.blob_store import CHUNK, BlobStore, DamagedError, sync_file_system
from contract.snapshot.check_paths import check_manifest
from contract.snapshot.checked_tree import is_right
from contract.snapshot.manifest import Manifest, SnapshotFile

CODE = ".code"
PORTION = 256  # files that are written in one step
WRITERS = 16  # a shared file system is slow for one writer and fast for many
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def tree_of(runs_folder: Path, name: str) -> Path:
    """Return the tree of a snapshot below the folder of the run folders."""
    return runs_folder / CODE / name


def has_tree(runs_folder: Path, name: str) -> bool:
    """Return whether the tree is there. It is complete then: it gets its name last."""
    try:
        return stat.S_ISDIR(os.lstat(tree_of(runs_folder, name)).st_mode)
    except FileNotFoundError:
        return False


def make_tree(
    store: BlobStore, runs_folder: Path, name: str, owners: Owners = OURS, examined: set[Examined] | None = None
) -> Generator[None, None, None]:
    """Make the tree of a snapshot in steps, unless it is there; several processes may make it at once.

    Every content is checked while it is copied, so that a tree is what was submitted. Files are copies, because a job
    of the same user could write through a hard link into the store. A tree that is another one, or that somebody else
    can change, is replaced; `examined` has those that need not be read again. Raise UnsafeFolderError if others can put
    files into the folder above, DamagedError or OSError; a caller that takes no further step leaves nothing behind.
    """
    examined = set() if examined is None else examined
    above, tree = runs_folder / CODE, tree_of(runs_folder, name)
    make_private_folder(above)
    owners.check(above)
    is_there = _renew(tree)
    if is_there and (yield from is_right(tree, owners, examined)):
        return
    manifest = store.read_manifest(name)
    if issues := check_manifest(manifest):
        raise DamagedError(f"the manifest of snapshot {name} is not valid: {issues[0].path}: {issues[0].message}")
    draft, aside = (above / f".{name}.{token_hex(8)}" for _ in range(2))
    try:
        draft.mkdir()
        yield from _fill(store, draft, manifest)
        if is_there:
            with suppress(FileNotFoundError):  # another process was first
                os.rename(tree, aside)
        made = Examined.of(draft)._replace(path=tree)
        _publish(draft, tree)
        examined.add(made)  # not a tree of another process that was first
    finally:
        remove_tree(draft)
        remove_tree(aside)


def _renew(tree: Path) -> bool:
    """Return whether something has the tree's name; protect it from the garbage collection for the time of grace."""
    try:
        os.utime(tree, follow_symlinks=False)
    except FileNotFoundError:
        return False
    except PermissionError:  # it is somebody else's
        pass
    return True


def remove_tree(path: Path) -> None:
    """Remove a tree, or what has its name, as far as possible; do nothing if it is absent."""
    with suppress(OSError):
        remove_folder(path)


def _fill(store: BlobStore, draft: Path, manifest: Manifest) -> Iterator[None]:
    folders = _folders(manifest)
    for folder in folders:
        (draft / folder).mkdir()
    with ThreadPoolExecutor(WRITERS) as writers:
        for start in range(0, len(manifest.files), PORTION):
            list(writers.map(partial(_copy, store, draft), manifest.files[start : start + PORTION]))
            yield
    for link in manifest.links:
        os.symlink(link.target, draft / link.path)
    for folder in reversed(folders):
        os.chmod(draft / folder, 0o555)
    os.chmod(draft, 0o555)


def _publish(draft: Path, tree: Path) -> None:
    """Give the tree its name, once it is on the disk."""
    descriptor = os.open(draft, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sync_file_system(descriptor)
    finally:
        os.close(descriptor)
    try:
        os.rename(draft, tree)
    except OSError:
        if not has_tree(tree.parent.parent, tree.name):  # another process was first
            raise


def _copy(store: BlobStore, draft: Path, file: SnapshotFile) -> None:
    digest, at = sha256(), 0
    with store.open_blob(file.sha256) as content:
        target = os.open(draft / file.path, _NEW, 0o600)
        try:
            while part := content.read(at, CHUNK):
                digest.update(part)
                _write(target, part)
                at += len(part)
            os.fchmod(target, 0o555 if file.executable else 0o444)
        finally:
            os.close(target)
    if digest.hexdigest() != file.sha256:
        raise DamagedError(f"the content of {file.path} ({file.sha256}) is damaged")


def _write(target: int, part: bytes) -> None:
    view = memoryview(part)
    while view:
        view = view[os.write(target, view) :]


def _folders(manifest: Manifest) -> Sequence[str]:
    """Return the folders of the tree, each after the folder above it."""
    paths = [entry.path for entry in manifest.entries]
    return sorted({path.rsplit("/", depth)[0] for path in paths for depth in range(1, path.count("/") + 1)})
