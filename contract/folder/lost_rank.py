"""The record of a lost rank: the run continues without this rank, because replicas train independently."""

from contextlib import suppress

from pydantic import Field, ValidationError

from contract.folder.bounds import Int4, Line, Moment, Rank
from contract.folder.record import FolderRecord


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


def parse_lost_ranks(data: bytes) -> list[LostRank]:
    """Return the lost ranks in a file's bytes, except incomplete lines."""
    found = []
    for line in data.splitlines():
        with suppress(ValidationError):
            found.append(LostRank.model_validate_json(line))
    return found
