"""The records of CPU and memory binding on many-core chips, as each rank reads its own from the kernel."""

from pydantic import Field

from contract.folder.bounds import MAX_RANKS, Int4, Line, Notes, Rank
from contract.folder.record import FolderRecord


class CpuBinding(FolderRecord):
    """The binding of one rank: the kernel's values, which may differ from the requested ones."""

    rank: Rank
    host: Line
    cpus: Line  # allowed cpus in the kernel's notation: 0-16,68-84
    threads: Int4  # number of compute threads
    memory: Line  # memory policy in the kernel's notation: default, prefer:1, interleave:4-5
    notes: Notes  # each request that was not met, and why


class CpuBindings(FolderRecord):
    """The bindings of all ranks of one attempt, in rank order."""

    attempt: Int4
    constraint: Line | None = None  # the requested node features, in Slurm's notation
    ranks: list[CpuBinding] = Field(max_length=MAX_RANKS)
