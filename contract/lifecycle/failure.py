"""How an attempt at a run failed: of which kind, which rank was the first, and the line that says so."""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel


class FailureKind(StrEnum):
    """The kinds, as far as they differ in what has to be mended."""

    OUT_OF_MEMORY = "out_of_memory"
    COLLECTIVE_TIMEOUT = "collective_timeout"  # the others waited in vain for a rank, in a collective or to meet it
    PYTHON_ERROR = "python_error"
    SIGNAL = "signal"  # its process was killed, or crashed
    WRONG_ENVIRONMENT = "wrong_environment"  # the Python, a module or a library that the job needs is not there
    NODE_FAILURE = "node_failure"
    TIME_LIMIT = "time_limit"
    UNKNOWN = "unknown"  # nobody said


class FallView(BaseModel):
    """Why one rank left, when by the clock that all are told by."""

    rank: int
    host: str
    at: datetime
    kind: FailureKind
    reason: str
    echo: bool  # only a sign that another rank fell: its connections broke


class Failure(BaseModel):
    """What is known of the first failure of an attempt, put together from all who could say something."""

    attempt: int
    kind: FailureKind
    rank: int | None  # the first that failed; None where nobody can say
    host: str | None
    at: datetime | None  # on the clock of rank 0's host; before the ranks had met, of the shared folder
    round: int | None  # of the collective in which the others waited
    reason: str  # one sentence
    evidence: str  # the lines that say so, as they were written
    source: str  # who wrote them: "rank 2", "its log", "slurm"
    falls: list[FallView]  # of every rank that left a word, the first one first
