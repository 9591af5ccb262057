"""The state of the service and of its clusters, as the API returns it."""

from datetime import datetime

from pydantic import Field

from contract.api.cluster_report import ClusterReport
from contract.described_model import DescribedModel


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
