"""The state of the service and of its clusters, and what its stream of events says, as the API returns them."""

from datetime import datetime

from pydantic import Field

from contract.api.cluster_report import ClusterReport
from contract.described_model import DescribedModel
from contract.lifecycle.state import State


class ClusterView(DescribedModel):
    """The newest report of a cluster."""

    kind: str = Field(examples=["slurm"])
    """The cluster, as `resources.kind` of a spec names it."""
    asked_at: datetime = Field(examples=["2026-11-23T08:00:00Z"])
    """When the scheduler last asked the cluster."""
    error: str | None = Field(examples=["slurm_load_partitions: Unable to contact slurm controller"])
    """The cluster's message if the last query failed; null if it succeeded."""
    report: ClusterReport | None
    """The newest report; null if no query has succeeded."""


class Health(DescribedModel):
    """The API process answers."""

    ok: bool = Field(examples=[True])
    """Always true."""
    version: str = Field(examples=["0.1.0"])
    """Version of the service."""


class Readiness(DescribedModel):
    """The state of the database and the scheduler."""

    ready: bool = Field(examples=[True])
    """Whether the database answers and the scheduler works."""
    database: str = Field(examples=["ok"])
    """`ok`, or the database's error."""
    scheduler: str = Field(examples=["ok", "the tick poll last succeeded 130 s ago"])
    """`ok`, or why the scheduler does not work."""
    scheduler_seen_at: datetime | None = Field(examples=["2026-11-23T08:00:00Z"])
    """When the scheduler last reported a cluster; null before the first report."""


class ChangedRun(DescribedModel):
    """A run that changed."""

    id: int = Field(examples=[42])
    """Id of the run."""
    experiment_id: int = Field(examples=[17])
    """Id of its experiment."""
    state: State | None = Field(examples=["running"])
    """Its state now; null for a run that was deleted."""
    attempt: int = Field(examples=[1])
    """Number of its current attempt; 0 before the first."""
    step: int = Field(examples=[1200])
    """The last step of which something is stored."""
    has_points: bool = Field(examples=[True])
    """Whether it has new points."""
    has_details: bool = Field(examples=[False])
    """Whether something else changed: its state, its job, its labels."""


class ChangedItems(DescribedModel):
    """The data of an event `change`: what changed since the event before."""

    runs: list[ChangedRun]
    """The runs that changed."""
    experiments: list[int] = Field(examples=[[17]])
    """Ids of experiments that are new, whose labels changed, or that got or lost runs."""
    mark: str = Field(examples=["5f0c21aa.93"])
    """The header `Bigbatch-After` of requests that this change causes: equal ones may share an answer that has it."""


class LogSize(DescribedModel):
    """The data of an event `log`: the size of the log of a run that the stream follows."""

    run_id: int = Field(examples=[42])
    """Id of the run."""
    size: int = Field(examples=[34])
    """Bytes of its log."""
