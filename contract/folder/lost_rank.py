"""The record of a lost rank: the run continues without this rank, because replicas train independently."""

from contract.folder.record import FolderRecord


class LostRank(FolderRecord):
    """A rank that failed while the run continued. Rank 0 writes the record."""

    attempt: int
    rank: int
    step: int  # step of rank 0 when rank 0 detected the loss
    at: float  # seconds since 1970, by the clock of rank 0's host
    reason: str
