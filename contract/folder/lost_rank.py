"""The record of a lost rank: the run continues without this rank, because replicas train independently."""

from contextlib import suppress

from pydantic import ValidationError

from contract.folder.bounds import Int4, Line, Moment, Rank
from contract.folder.record import FolderRecord


class LostRank(FolderRecord):
    """A rank that failed while the run continued. Rank 0 writes the record."""

    attempt: Int4
    rank: Rank
    step: Int4  # step of rank 0 when rank 0 detected the loss
    at: Moment  # seconds since 1970, by the clock of rank 0's host
    reason: Line


def parse_lost_ranks(data: bytes) -> list[LostRank]:
    """Return the lost ranks in a file's bytes, except incomplete lines."""
    found = []
    for line in data.splitlines():
        with suppress(ValidationError):
            found.append(LostRank.model_validate_json(line))
    return found
