"""The folder of a job array: links from each array task to the run that the task carries out.

arrays/NAME/TASK          link to the run's folder
arrays/NAME/TASK/MEMBER   if a task carries out several runs: a link to each run's folder
arrays/NAME/TASK/job.log  if a task carries out several runs: output about the job as a whole
arrays/NAME/script.sh     the submitted batch script
"""

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from contract.access.visibility import PRIVATE, Visibility
from contract.folder.files.untrusted_file import open_folder
from contract.folder.run_folder import RunFolder


@dataclass(frozen=True)
class ArrayFolder:
    """One job array's folder at `path`, written before the array is submitted."""

    path: Path

    @classmethod
    def of(cls, root: Path, name: str) -> "ArrayFolder":
        """Return the folder of the array `name` below `root`, the folder that also contains the run folders."""
        return cls(root / "arrays" / name)

    @property
    def script(self) -> Path:
        """The submitted batch script."""
        return self.path / "script.sh"

    def link_runs(self, runs: Mapping[int, RunFolder], visibility: Visibility = PRIVATE) -> None:
        """Link every task to its run; may raise OSError."""
        self._make(visibility)
        with open_folder(self.path.parent, self.path.name) as folder:
            for task, run in runs.items():
                _link(folder, self.path / str(task), run)

    def link_packs(self, packs: Mapping[int, Mapping[int, RunFolder]], visibility: Visibility = PRIVATE) -> None:
        """Link every task to its runs, all links of a task at once; may raise OSError."""
        self._make(visibility)
        with open_folder(self.path.parent, self.path.name) as folder:
            for task, members in packs.items():
                draft = self.path / f".{task}"
                with suppress(FileExistsError):
                    os.mkdir(draft.name, dir_fd=folder)
                with open_folder(self.path, draft.name) as task_folder:
                    for member, run in members.items():
                        _link(task_folder, draft / str(member), run)
                    _sync(task_folder)
                os.rename(draft.name, str(task), src_dir_fd=folder, dst_dir_fd=folder)

    def sync(self) -> None:
        """Return after the links are on the disk. Call this method before the array is submitted."""
        with open_folder(self.path.parent, self.path.name) as folder:
            _sync(folder)

    def _make(self, visibility: Visibility) -> None:
        """Make the folder, and the one of all arrays for those who may look into run folders."""
        visibility.make_folder(self.path.parent)
        self.path.mkdir(exist_ok=True)


def _sync(folder: int) -> None:
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot sync a folder, and write folders synchronously
            raise


def _link(folder: int, path: Path, run: RunFolder) -> None:
    """Create the link in its open folder; accept an equal link: NFS may repeat a request whose answer was lost."""
    target = os.path.relpath(run.path, path.parent)
    try:
        os.symlink(target, path.name, dir_fd=folder)
    except FileExistsError:
        if os.readlink(path.name, dir_fd=folder) != target:
            raise
