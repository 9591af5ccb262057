"""The report of a cluster: partitions, nodes and queue, in one form for Slurm and for the local machine."""

from pydantic import BaseModel


class Partition(BaseModel):
    """A partition of the cluster."""

    name: str
    is_default: bool
    state: str
    nodes: int
    idle_nodes: int
    cpus: int
    time_limit: str
    gres: str
    whole_nodes: bool = False  # every job gets whole nodes (OverSubscribe=EXCLUSIVE)


class Node(BaseModel):
    """A node of the cluster."""

    name: str
    state: str
    partitions: list[str]
    cpus: int
    busy_cpus: int
    memory_mb: int
    gres: str
    features: list[str]


class QueuedJob(BaseModel):
    """A pending or running job of any user."""

    job_id: str
    name: str
    user: str
    partition: str
    state: str
    nodes: int
    elapsed: str
    reason: str  # why the job waits, or the nodes on which the job runs


class SubmitLimits(BaseModel):
    """The submission limits of the service's user."""

    tasks: int  # in one job array (MaxArraySize)
    jobs: int | None  # running and waiting at the same time (MaxSubmitJobs); null: no limit


class ClusterReport(BaseModel):
    """Everything that a cluster reports."""

    partitions: list[Partition]
    nodes: list[Node]
    queue: list[QueuedJob]
    admits: SubmitLimits | None = None  # null: not known yet

    def select_partitions(self, partition: str | None) -> list[Partition]:
        """Return the partitions named in `partition` (separated by commas), or the default partitions for None."""
        wanted = partition.split(",") if partition else [part.name for part in self.partitions if part.is_default]
        return [part for part in self.partitions if part.name in wanted]
