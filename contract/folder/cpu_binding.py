"""The records of CPU and memory binding on many-core chips, as each rank reads its own from the kernel."""

from contract.folder.record import FolderRecord


class CpuBinding(FolderRecord):
    """The binding of one rank: the kernel's values, which may differ from the requested ones."""

    rank: int
    host: str
    cpus: str  # allowed cpus in the kernel's notation: 0-16,68-84
    threads: int  # number of compute threads
    memory: str  # memory policy in the kernel's notation: default, prefer:1, interleave:4-5
    notes: list[str]  # each request that was not met, and why


class CpuBindings(FolderRecord):
    """The bindings of all ranks of one attempt, in rank order."""

    attempt: int
    constraint: str | None = None  # the requested node features, in Slurm's notation
    ranks: list[CpuBinding]
