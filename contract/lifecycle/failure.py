"""The failure of an attempt: its kind, the first rank that failed, and the evidence."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from contract.described_model import DescribedModel


class FailureKind(StrEnum):
    """The kinds of failures, as far as they differ in what a user has to fix.

    out_of_memory: of a host or a device. collective_timeout: in a collective or at the rendezvous. python_error: an
    exception. signal: a signal ended the rank's process, or the process crashed. wrong_environment: the Python, a
    module or a library that the job needs is missing. node_failure, time_limit: as the cluster reports. unknown: no
    evidence names a kind.
    """

    OUT_OF_MEMORY = "out_of_memory"
    COLLECTIVE_TIMEOUT = "collective_timeout"
    PYTHON_ERROR = "python_error"
    SIGNAL = "signal"
    WRONG_ENVIRONMENT = "wrong_environment"
    NODE_FAILURE = "node_failure"
    TIME_LIMIT = "time_limit"
    UNKNOWN = "unknown"


class RankFailureView(DescribedModel):
    """Why one rank failed, and when by the common clock of all ranks."""

    rank: int = Field(examples=[3])
    """Number of the rank, from 0."""
    host: str = Field(examples=["n2"])
    """Host of the rank."""
    at: datetime = Field(examples=["2026-11-23T08:00:00Z"])
    """When the rank failed, by the clock of rank 0's host."""
    kind: FailureKind
    """The kind of failure."""
    reason: str = Field(examples=["rank 3 on n2: OutOfMemoryError: CUDA out of memory"])
    """Why the rank failed, in one sentence."""
    echo: bool = Field(examples=[False])
    """Whether this is a consequence of another rank's failure: the connections to that rank broke."""


class Failure(DescribedModel):
    """The first failure of an attempt, from ranks' notes, the log and the cluster."""

    attempt: int = Field(examples=[1])
    """Number of the attempt, from 1."""
    kind: FailureKind
    """The kind of failure."""
    rank: int | None = Field(examples=[3])
    """The first rank that failed; null if unknown."""
    host: str | None = Field(examples=["n2"])
    """The host of this rank; null if unknown."""
    at: datetime | None = Field(examples=["2026-11-23T08:00:00Z"])
    """When this rank failed, by the clock of rank 0's host; before the rendezvous, by the clock of the shared folder;
    null if no rank left a note."""
    round: int | None = Field(examples=[5])
    """Round of the collective in which other ranks waited; null if none did."""
    reason: str = Field(examples=["rank 3 on n2: OutOfMemoryError: CUDA out of memory"])
    """Why the attempt failed, in one sentence."""
    evidence: str = Field(examples=["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."])
    """The lines that show the failure, as they were written."""
    source: str = Field(examples=["rank 3", "the log", "slurm"])
    """Who wrote the evidence: a rank, the log, the job or the cluster."""
    falls: list[RankFailureView]
    """The failure of every rank that left a note, in time order."""
    has_begun: bool = True
    """Whether a rank of the attempt had begun; false where the job ended before."""
