"""The records of CPU and memory binding on many-core chips, as each rank reads its own from the kernel."""

from pydantic import Field

from contract.folder.bounds import MAX_RANKS, Int4, Line, Notes, Rank
from contract.folder.record import FolderRecord


class CpuBinding(FolderRecord):
    """The binding of one rank: the kernel's values, which may differ from the requested ones."""

    rank: Rank = Field(examples=[0])
    """Number of the rank, from 0."""
    host: Line = Field(examples=["n1"])
    """Host of the rank."""
    cpus: Line = Field(examples=["0-16,68-84"])
    """Allowed cpus, in the kernel's notation."""
    threads: Int4 = Field(examples=[17])
    """Number of compute threads."""
    memory: Line = Field(examples=["default", "prefer:1", "interleave:4-5"])
    """Memory policy, in the kernel's notation."""
    notes: Notes = Field(examples=[["the host has no NUMA node of fast memory"]])
    """Each request that was not met, and why."""


class CpuBindings(FolderRecord):
    """The bindings of all ranks of one attempt, in rank order."""

    attempt: Int4 = Field(examples=[1])
    """Number of the attempt, from 1."""
    constraint: Line | None = Field(default=None, examples=["quad&flat"])
    """The requested node features, in Slurm's notation; null without any."""
    ranks: list[CpuBinding] = Field(max_length=MAX_RANKS)
    """The binding of each rank, in rank order."""
