"""How far a run's event file has come: what was read of the run's folder, and the size of the file then."""

import time
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from contract.folder.files.atomic_file import write_atomic
from contract.folder.files.untrusted_file import read_file, stat_file

POSITION = "position.json"  # beside the event file
MAX_BYTES = 1 << 16  # of that file: it has one number for each of 256 ranks


class Position(BaseModel):
    """Everything of the run's folder up to here is in the first `size` bytes of the event file."""

    model_config = ConfigDict(frozen=True)

    began: float = Field(default_factory=time.time)  # seconds since 1970, in the file's name as TensorBoard wants it
    size: int = Field(default=0, ge=0)
    cursor: int = Field(default=0, ge=0)  # in the run's events
    ranks: dict[str, int] = {}  # the same of ranks above 0 and of nodes

    @property
    def file(self) -> str:
        """The name of the event file."""
        return f"events.out.tfevents.{int(self.began):010d}.bigbatch"

    @classmethod
    def read(cls, folder: Path) -> "Position":
        """Return the position of the folder of an event file; the beginning of a new file where one is missing."""
        try:
            found = cls.model_validate_json(read_file(folder, POSITION, MAX_BYTES))
            return found if stat_file(folder, found.file).st_size >= found.size else cls()
        except (FileNotFoundError, ValidationError):
            return cls()

    def write(self, folder: Path) -> None:
        """Store the position, after what it names is on the disk."""
        write_atomic(folder, POSITION, self.model_dump_json())
