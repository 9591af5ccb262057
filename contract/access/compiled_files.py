"""What Python compiles beside the programs of the service: folders named __pycache__, which jobs write while they run.

They are no other content of a tree. But Python executes what is in them, so one that others can change is removed,
alone: the tree stays in its place, because jobs use it.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from contract.access.owners import Owners
from contract.folder.files.whole_folder import remove_folder

COMPILED = "__pycache__"


def entries_of(tree: Path, owners: Owners) -> Iterator[Path]:
    """Yield a tree and everything below it, each folder before what it has; no link is followed.

    Compiled files that others can change are removed and not yielded. Raise ValueError where others can change a
    folder, because nothing in it is what it seems then; may raise OSError.
    """
    yield tree
    folders = [tree]
    while folders:
        folder = folders.pop()
        if danger := owners.find_danger(folder, folder.lstat()):
            raise ValueError(f"{folder} {danger}")
        with os.scandir(folder) as entries:
            for entry in entries:
                path = Path(entry.path)
                if entry.name == COMPILED and not _is_safe(path, owners):
                    remove_folder(path)
                    continue
                yield path
                if entry.is_dir(follow_symlinks=False):
                    folders.append(path)


def _is_safe(compiled: Path, owners: Owners) -> bool:
    """Return whether a folder has nothing but files, and nobody else can change it or one of them."""
    status = compiled.lstat()
    if not stat.S_ISDIR(status.st_mode) or owners.find_danger(compiled, status):
        return False
    found = ((path, path.lstat()) for path in compiled.iterdir())
    return all(stat.S_ISREG(status.st_mode) and not owners.find_danger(path, status) for path, status in found)
