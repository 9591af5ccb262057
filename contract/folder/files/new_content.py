"""Files and folders that the service puts back into a run's folder: no reader sees a part, and no link is followed.

Everything is written into a new folder first, and moved to its place as a whole.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex

from contract.access.visibility import PRIVATE, Visibility
from contract.folder.files.untrusted_file import open_folder
from contract.folder.files.whole_folder import remove_folder

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
CONTENT = "content"  # what is moved, in the new folder


class NewContent:
    """A file or a folder that is written; `move_to` puts it in its place."""

    def __init__(self, folder: Path, draft: str) -> None:
        self._folder, self._draft = folder, draft

    def write(self, path: str, blocks: Iterable[bytes]) -> None:
        """Write a file; an empty path is the content itself. May raise OSError, or what `blocks` raises."""
        above, leaf = self._made(path)
        with open_folder(self._folder, above) as parent:
            descriptor = os.open(leaf, _NEW, 0o666, dir_fd=parent)
        with os.fdopen(descriptor, "wb") as file:
            for block in blocks:
                file.write(block)
            file.flush()
            os.fsync(file.fileno())

    def link(self, path: str, target: str) -> None:
        """Make a symbolic link. May raise OSError."""
        above, leaf = self._made(path)
        with open_folder(self._folder, above) as parent:
            os.symlink(target, leaf, dir_fd=parent)

    def make_folder(self) -> None:
        """Let the content be a folder. May raise OSError."""
        _make(self._folder, f"{self._draft}/{CONTENT}")

    def move_to(self, path: str) -> None:
        """Move the content to a path below the folder, where nothing is; raise FileExistsError, or another OSError."""
        above, _, leaf = path.rpartition("/")
        _make(self._folder, above)
        with open_folder(self._folder, self._draft) as draft, open_folder(self._folder, above) as parent:
            if _is_there(parent, leaf):  # a rename replaces a file
                raise FileExistsError(f"{path} is there")
            os.rename(CONTENT, leaf, src_dir_fd=draft, dst_dir_fd=parent)

    def _made(self, path: str) -> tuple[str, str]:
        """Return the folder of a new entry, which is made, and the entry's name."""
        above, _, leaf = f"{self._draft}/{CONTENT}/{path}".rstrip("/").rpartition("/")
        _make(self._folder, above)
        return above, leaf


@contextmanager
def new_content(folder: Path, visibility: Visibility = PRIVATE) -> Iterator[NewContent]:
    """Yield what takes files and folders; what is not moved to its place is removed at the end."""
    visibility.make_folder(folder)
    draft = f".restored-{token_hex(8)}"
    _make(folder, draft)
    try:
        yield NewContent(folder, draft)
    finally:
        remove_folder(folder / draft)


def _make(folder: Path, path: str) -> None:
    """Make a folder below `folder` and those above it."""
    above = ""
    for part in path.split("/") if path else ():
        with open_folder(folder, above) as parent:
            if not _is_there(parent, part):
                os.mkdir(part, dir_fd=parent)
        above = f"{above}/{part}".lstrip("/")


def _is_there(folder: int, name: str) -> bool:
    try:
        os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True
