"""The check of a tree of code that is there: it has the content of its name, and nobody else can change it.

What Python has compiled in it (__pycache__) is no other content, and is removed where others can change it.
A process reads a tree once. Afterwards only the service's own account can change it, whose jobs may do so anyway.
"""

import os
import stat
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import file_digest
from itertools import islice
from pathlib import Path

from contract.access.compiled_files import COMPILED, entries_of
from contract.access.owners import Examined, Owners
from contract.snapshot.manifest import SnapshotFile, SnapshotLink, make_manifest

PORTION = 256  # files that are read in one step
READERS = 16  # a shared file system is slow for one reader and fast for many


def is_right(tree: Path, owners: Owners, examined: set[Examined]) -> Generator[None, None, bool]:
    """Return whether the tree is the one of its name, after steps in which a portion of its files is read.

    `examined`: trees that need not be read again; this one is added.
    """
    try:
        identity = Examined.of(tree)
        if identity in examined:
            return True
        found, paths = list[SnapshotFile | SnapshotLink](), entries_of(tree, owners)
        with ThreadPoolExecutor(READERS) as readers:
            while portion := list(islice(paths, PORTION)):
                entries = readers.map(partial(_describe, tree, owners), portion)
                found += [entry for entry in entries if entry]
                yield
    except (OSError, ValueError):
        return False
    own = [entry for entry in found if COMPILED not in entry.path.split("/")]  # what jobs have compiled is no change
    if all(make_manifest(entries).hash() != tree.name for entries in (found, own)):
        return False
    examined.add(identity)
    return True


def _describe(tree: Path, owners: Owners, path: Path) -> SnapshotFile | SnapshotLink | None:
    """Return the entry of a manifest, None for a folder; raise ValueError for what is in no tree of the service."""
    name, status = path.relative_to(tree).as_posix(), path.lstat()
    if danger := owners.find_danger(path, status):
        raise ValueError(f"{name} {danger}")
    if stat.S_ISDIR(status.st_mode):
        return None
    if stat.S_ISLNK(status.st_mode):
        return SnapshotLink(path=name, target=os.readlink(path))
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"{name} is neither a file nor a link")
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return SnapshotFile(path=name, sha256=digest, size=status.st_size, executable=bool(status.st_mode & stat.S_IXUSR))
