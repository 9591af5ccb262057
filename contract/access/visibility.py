"""Visibility: who besides the service's user may look into the folders of runs.

The folder of a run bounds what its files show, whatever their own modes are: files of the service and of its jobs
follow their umask, which may show less.
"""

from enum import StrEnum
from pathlib import Path

from contract.private_files import make_folder, make_private


class Visibility(StrEnum):
    """Who may look into the folder of a run."""

    PRIVATE = "private"  # the service's user alone
    GROUP = "group"  # and the group that owns the folder
    PUBLIC = "public"  # every user

    @property
    def mode(self) -> int:
        """The permissions of the folder."""
        return {Visibility.PRIVATE: 0o700, Visibility.GROUP: 0o750, Visibility.PUBLIC: 0o755}[self]

    def make_folder(self, path: Path) -> None:
        """Make the folder for those who may look into it, or close an existing one to all others; may raise OSError."""
        make_folder(path, self.mode)
        make_private(path, denied=0o777 & ~self.mode)


PRIVATE = Visibility.PRIVATE
