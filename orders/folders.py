"""The folders that are read before an experiment is accepted."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from contract.settings import Settings


@dataclass(frozen=True)
class Folders:
    """The run folders, and the folder of code snapshots."""

    runs: Path
    snapshots: Path

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the folders that the settings name."""
        return cls(settings.runs_folder(), settings.snapshots_folder())
