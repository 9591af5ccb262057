"""The nodes on which attempts failed: how often, why, and in which runs."""

from datetime import datetime

from pydantic import Field

from contract.described_model import DescribedModel
from contract.lifecycle.exit_cause import ExitCause

MOMENT = "2026-11-23T08:00:00Z"


class FailedAttempt(DescribedModel):
    """An attempt that failed on a node."""

    run_id: int = Field(examples=[42])
    """Id of the run."""
    attempt: int = Field(examples=[1])
    """Number of the attempt, from 1."""
    at: datetime = Field(examples=[MOMENT])
    """When the service decided that the attempt had ended."""
    cause: ExitCause
    """Why the attempt ended."""
    reason: str | None = Field(examples=["a node of the job failed (NODE_FAIL)"])
    """Why the attempt ended, as a sentence; null if the cause says all."""


class NodeFailures(DescribedModel):
    """A node on which attempts failed."""

    cluster: str = Field(examples=["slurm"])
    """The cluster of the node."""
    node: str = Field(examples=["n3"])
    """Name of the node."""
    attempts: int = Field(examples=[57])
    """Attempts with this node that ended in the period."""
    node_failures: int = Field(examples=[4])
    """Attempts that failed because of this node: the only one of its job, or one that later attempts exclude."""
    possible: int = Field(examples=[1])
    """Attempts that a node failure ended, of whose several nodes it is not known which one failed."""
    other_causes: dict[ExitCause, int] = Field(examples=[{"failure": 2, "out_of_memory": 1}])
    """Attempts that failed for other causes, by cause: `failure`, `out_of_memory` and `lost`; a cause without any is
    absent."""
    newest: list[FailedAttempt]
    """The newest failed attempts, at most five: those of `node_failures` first, then `possible` ones, then others."""


class NodeFailureReport(DescribedModel):
    """The nodes on which attempts failed in a period, those with the most node failures first."""

    since: datetime = Field(examples=[MOMENT])
    """Begin of the period."""
    nodes: list[NodeFailures]
    """The nodes, at most `limit`."""
    total: int = Field(examples=[3])
    """Number of nodes on which attempts failed, also beyond `limit`."""
    is_complete: bool = Field(examples=[True])
    """Whether all attempts of the period were read; else the newest ones, from `since` on."""
