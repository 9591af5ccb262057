"""The folder of a job array: which run each of its tasks carries out, written before the array is submitted.

arrays/NAME/TASK          leads to the run's folder
arrays/NAME/TASK/MEMBER   where a task carries several runs: leads to the folder of each
arrays/NAME/TASK/job.log  what was said there of the job as a whole
arrays/NAME/script.sh     what the cluster was given
"""

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from contract.folder.run_folder import RunFolder


@dataclass(frozen=True)
class ArrayFolder:
    path: Path

    @classmethod
    def of(cls, root: Path, name: str) -> "ArrayFolder":
        """The folder of the array of that name, beside the folders of the runs."""
        return cls(root / "arrays" / name)

    @property
    def script(self) -> Path:
        return self.path / "script.sh"

    def prepare(self, runs: Mapping[int, RunFolder]) -> None:
        """Lead every task to its run; raise OSError when that cannot be written."""
        self.path.mkdir(parents=True, exist_ok=True)
        for task, run in runs.items():
            _link(self.path / str(task), run)

    def prepare_packs(self, packs: Mapping[int, Mapping[int, RunFolder]]) -> None:
        """Lead every task to its runs, whole or not at all; raise OSError when that cannot be written."""
        self.path.mkdir(parents=True, exist_ok=True)
        for task, members in packs.items():
            draft = self.path / f".{task}"
            draft.mkdir(exist_ok=True)
            for member, run in members.items():
                _link(draft / str(member), run)
            _sync(draft)
            draft.rename(self.path / str(task))

    def keep(self) -> None:
        """See that the tasks are on the disk: before anybody submits what follows them."""
        _sync(self.path)


def _sync(path: Path) -> None:
    """Return when what the folder lists is on the disk."""
    folder = os.open(path, os.O_RDONLY)
    try:
        os.fsync(folder)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that keeps folders in its own way
            raise
    finally:
        os.close(folder)


def _link(path: Path, run: RunFolder) -> None:
    """Lead from there to the run; a file server that is asked twice, its answer being lost, says that this is done."""
    target = os.path.relpath(run.path, path.parent)
    try:
        path.symlink_to(target)
    except FileExistsError:
        if os.readlink(path) != target:
            raise


def members_in(task: Path) -> dict[int, RunFolder]:
    """The folders of the runs that a task carries together, in their order; none while nothing can be seen there."""
    found = [path for path in task.glob("*") if path.name.isdecimal()]
    return {int(path.name): RunFolder(path) for path in sorted(found, key=lambda path: int(path.name))}
