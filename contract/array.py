"""The folder of a job array: which run each of its tasks carries out, written before the array is submitted.

arrays/NAME/TASK        leads to the run's folder
arrays/NAME/script.sh   what the cluster was given
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from contract.folder import RunFolder


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
            (self.path / str(task)).symlink_to(os.path.relpath(run.path, self.path))
