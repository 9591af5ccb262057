"""What a cluster says of itself: partitions, nodes and the queue, in the same words for Slurm and this machine."""

from pydantic import BaseModel


class Partition(BaseModel):
    name: str
    is_default: bool
    state: str
    nodes: int
    idle_nodes: int
    cpus: int
    time_limit: str
    gres: str
    whole_nodes: bool = False  # a job gets its nodes whole, whatever it asks for


class Node(BaseModel):
    name: str
    state: str
    partitions: list[str]
    cpus: int
    busy_cpus: int
    memory_mb: int
    gres: str
    features: list[str]


class QueuedJob(BaseModel):
    job_id: str
    name: str
    user: str
    partition: str
    state: str
    nodes: int
    elapsed: str
    reason: str  # why it waits, or where it runs


class Admits(BaseModel):
    """How much a cluster takes from the service's user."""

    tasks: int  # in one job array
    jobs: int | None  # at once, waiting ones included; null: no limit was found


class ClusterReport(BaseModel):
    partitions: list[Partition]
    nodes: list[Node]
    queue: list[QueuedJob]
    admits: Admits | None = None  # null: it has not been asked yet

    def chosen(self, partition: str | None) -> list[Partition]:
        """The partitions that a job may run in which asks for `partition`, one or several with commas, or for none."""
        wanted = partition.split(",") if partition else [part.name for part in self.partitions if part.is_default]
        return [part for part in self.partitions if part.name in wanted]
