"""The report of a cluster: partitions, nodes and queue, in one form for Slurm and for the local machine."""

from datetime import datetime

from pydantic import Field

from contract.described_model import DescribedModel
from contract.lifecycle.pending_reason import PendingReason


class Partition(DescribedModel):
    """A partition of the cluster."""

    name: str = Field(examples=["gpu"])
    """Name of the partition."""
    is_default: bool = Field(examples=[True])
    """Whether jobs without a partition go to this one."""
    state: str = Field(examples=["up"])
    """State of the partition, in Slurm's word."""
    nodes: int = Field(examples=[16])
    """Number of nodes."""
    idle_nodes: int = Field(examples=[5])
    """Number of idle nodes."""
    cpus: int = Field(examples=[1024])
    """Number of cpus of all nodes, as Slurm counts cpus."""
    time_limit: str = Field(examples=["1-00:00:00"])
    """Longest time of a job, in Slurm's notation (days-hours:minutes:seconds); `infinite` or `none`: no limit."""
    gres: str = Field(examples=["gpu:4"])
    """Generic resources of the nodes, each kind of node once; empty without any."""
    whole_nodes: bool = False
    """Whether every job gets whole nodes (OverSubscribe=EXCLUSIVE)."""
    out_of_service: dict[str, int] = Field(default={}, examples=[{"drained": 2, "down": 1}])
    """Number of nodes that take no job, by their state in Slurm's word."""


class Node(DescribedModel):
    """A node of the cluster."""

    name: str = Field(examples=["n1"])
    """Name of the node."""
    state: str = Field(examples=["idle"])
    """State of the node, in Slurm's word; signs such as `*` (does not respond) may follow."""
    partitions: list[str] = Field(examples=[["gpu"]])
    """The partitions of the node."""
    cpus: int = Field(examples=[64])
    """Number of cpus, as Slurm counts cpus."""
    busy_cpus: int = Field(examples=[16])
    """Number of cpus that jobs have."""
    memory_mb: int = Field(examples=[515000])
    """Memory in MiB."""
    gres: str = Field(examples=["gpu:4"])
    """Generic resources; empty without any."""
    features: list[str] = Field(examples=[["knl", "quad"]])
    """Node features, which `resources.constraint` of a spec can require."""
    jobs: list[str] = Field(default=[], examples=[["4711", "4712_3"]])
    """The cluster's ids of the jobs on the node, of any user."""


class QueuePlace(DescribedModel):
    """The place of a pending job among those of its partition, by Slurm's priority."""

    partition: str = Field(examples=["gpu"])
    """The partition; of a job that names several, the one with the best place."""
    place: int = Field(examples=[4])
    """Place from 1, the highest priority."""
    pending: int = Field(examples=[31])
    """Number of pending jobs in the partition without those on hold; each waiting task of an array counts."""


class QueuedJob(DescribedModel):
    """A pending or running job of any user."""

    job_id: str = Field(examples=["4711"])
    """The cluster's id of the job."""
    name: str = Field(examples=["bigbatch-1f0c9a2b3d4e-1"])
    """Name of the job."""
    user: str = Field(examples=["ada"])
    """User of the job."""
    partition: str = Field(examples=["gpu"])
    """Partition of the job."""
    state: str = Field(examples=["RUNNING"])
    """State of the job, in Slurm's word."""
    nodes: int = Field(examples=[2])
    """Number of nodes."""
    tasks: int = Field(default=1, examples=[1])
    """Number of jobs that this entry stands for: the waiting tasks of an array; else 1."""
    elapsed: str = Field(examples=["12:30"])
    """Time since the start of the job, in Slurm's notation."""
    reason: str = Field(examples=["Resources"])
    """Why the job waits, or the nodes on which the job runs."""
    priority: int | None = Field(default=None, examples=[4294901733])
    """Slurm's priority of the job; 0: on hold; null: the cluster has none."""
    pending_reason: PendingReason | None = Field(default=None, examples=["resources"])
    """Why a pending job waits; null for a job that runs."""
    sentence: str | None = Field(default=None, examples=["the job waits for nodes to become free (Resources)"])
    """The reason of a pending job as a sentence, with the cluster's own word; null for a job that runs."""
    place: QueuePlace | None = None
    """The place of a pending job of this service; null for other jobs, and for one on hold."""
    predicted_start: datetime | None = Field(default=None, examples=["2026-11-26T13:40:00Z"])
    """When Slurm's backfill expects a pending job to start; null: it has no plan."""
    is_own: bool = Field(default=False, examples=[True])
    """Whether this service submitted the job; other services and other users have jobs in the queue too."""
    run_id: int | None = Field(default=None, examples=[42])
    """The run whose job this is; null for a job of others, and for a submission of several runs."""

    def is_in(self, partition: str) -> bool:
        """Return whether the job is in a partition, or waits for several, of which that is one."""
        return partition in self.partition.split(",")


class SubmitLimits(DescribedModel):
    """The submission limits of the service's user."""

    tasks: int = Field(examples=[1000])
    """Largest number of tasks in one job array (MaxArraySize)."""
    jobs: int | None = Field(examples=[5000])
    """Largest number of jobs that run and wait at the same time (MaxSubmitJobs); null: no limit."""


class ClusterReport(DescribedModel):
    """Everything that a cluster reports."""

    partitions: list[Partition]
    """All partitions, also hidden ones."""
    nodes: list[Node]
    """All nodes of the partitions."""
    queue: list[QueuedJob]
    """The pending and running jobs of all users."""
    admits: SubmitLimits | None = None
    """The submission limits; null: not known yet, or the cluster has none."""
    ranks: int | None = Field(default=None, examples=[8])
    """Largest number of ranks that the service lets run at the same time; null: the cluster decides."""

    def select_partitions(self, partition: str | None) -> list[Partition]:
        """Return the partitions named in `partition` (separated by commas), or the default partitions for None."""
        wanted = partition.split(",") if partition else [part.name for part in self.partitions if part.is_default]
        return [part for part in self.partitions if part.name in wanted]
