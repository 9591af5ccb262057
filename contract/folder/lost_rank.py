"""The record of a lost rank: the run continues without this rank, because replicas train independently."""

from contextlib import suppress
from pathlib import Path

from pydantic import Field, ValidationError

from contract.folder.bounds import Int4, Line, Moment, Rank
from contract.folder.files.untrusted_file import open_file
from contract.folder.record import FolderRecord

MAX_BYTES = 1 << 20  # more take a request over a second


class LostRank(FolderRecord):
    """A rank that failed while the run continued. Rank 0 writes the record."""

    attempt: Int4 = Field(examples=[1])
    """Number of the attempt, from 1."""
    rank: Rank = Field(examples=[3])
    """Number of the lost rank, from 0."""
    step: Int4 = Field(examples=[1200])
    """Step of rank 0 when rank 0 detected the loss."""
    at: Moment = Field(examples=[1795420800.0])
    """When rank 0 detected the loss: seconds since 1970, by the clock of rank 0's host."""
    reason: Line = Field(examples=["rank 3 on n2 closed its connection"])
    """Why the rank is lost, in one sentence."""


def read_lost_ranks(folder: Path, name: str) -> list[LostRank]:
    """Return the lost ranks in a file's first MAX_BYTES, except incomplete lines; none without the file."""
    try:
        with open_file(folder, name) as file:
            lines = file.read(0, MAX_BYTES).splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        with suppress(ValidationError):
            found.append(LostRank.model_validate_json(line))
    return found
