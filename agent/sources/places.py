"""Places: where the files of a spec's relative paths are, in the run's folder or in its working folder."""

from __future__ import annotations

import os
from typing import NamedTuple


class Folders(NamedTuple):
    """The run's folder, and the folder below it in which the program starts; None: it starts elsewhere."""

    run: str
    working: str | None = None

    @property
    def program_starts_in(self) -> str | None:
        """The working folder relative to the run's folder, None if that is the run's folder itself, or elsewhere."""
        if self.working is None:
            return None
        path = os.path.relpath(os.path.realpath(self.working), os.path.realpath(self.run))
        return None if path == os.curdir or path.split(os.sep)[0] == os.pardir else path


class Place:
    """The file or folder of a name: in the run's folder if it is there, else in the working folder if it is there.

    An absolute name, or one that leads out of the run's folder, is one place.
    """

    def __init__(self, folders: Folders, name: str | None) -> None:
        root, below = os.path.realpath(folders.run), folders.program_starts_in
        self._root, self._path = root, os.path.realpath(os.path.join(root, name or os.curdir))
        self.is_shared = os.path.commonpath([root, self._path]) != root  # other runs may write there too
        second = None if below is None or name is None else os.path.realpath(os.path.join(root, below, name))
        self._second = second if second and os.path.commonpath([root, second]) == root else None
        self._working = None if below is None else os.path.join(root, below)

    @property
    def path(self) -> str:
        """The path, by what is there now."""
        if self._second is None or os.path.exists(self._path) or not os.path.exists(self._second):
            return self._path
        return self._second

    def has_older(self, path: str) -> bool:
        """Return whether what this path has before the run starts is not of the run, but of others or of its code."""
        return self.is_shared or (self._working is not None and path.startswith(self._working + os.sep))
