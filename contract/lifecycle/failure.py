"""The failure of an attempt: its kind, the first rank that failed, and the evidence."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel


class FailureKind(StrEnum):
    """The kinds, as far as they differ in what a user has to fix."""

    OUT_OF_MEMORY = "out_of_memory"
    COLLECTIVE_TIMEOUT = "collective_timeout"  # in a collective or at the rendezvous
    PYTHON_ERROR = "python_error"
    SIGNAL = "signal"  # a signal ended the rank's process, or the process crashed
    WRONG_ENVIRONMENT = "wrong_environment"  # the Python, a module or a library that the job needs is missing
    NODE_FAILURE = "node_failure"
    TIME_LIMIT = "time_limit"
    UNKNOWN = "unknown"  # no evidence names a kind


class RankFailureView(BaseModel):
    """Why one rank failed, and when by the common clock of all ranks."""

    rank: int
    host: str
    at: datetime
    kind: FailureKind
    reason: str
    echo: bool  # a consequence of another rank's failure: the connections to that rank broke


class Failure(BaseModel):
    """The first failure of an attempt, from ranks' notes, the log and the cluster."""

    attempt: int
    kind: FailureKind
    rank: int | None  # the first that failed; None if unknown
    host: str | None
    at: datetime | None  # by the clock of rank 0's host; before the rendezvous, by the clock of the shared folder
    round: int | None  # of the collective in which other ranks waited
    reason: str  # one sentence
    evidence: str  # the lines that show the failure, as they were written
    source: str  # of the evidence: "rank 2", "the log", "slurm"
    falls: list[RankFailureView]  # of every rank that left a note, in time order
