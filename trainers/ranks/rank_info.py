"""RankInfo: the number of a rank, the size of its world, its node, and its cores."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from runfiles.own_address import LOOPBACK


@dataclass(frozen=True)
class RankInfo:
    """One rank among all ranks of an attempt."""

    rank: int
    world: int  # number of all ranks
    local_rank: int  # its number on its node
    local_world: int  # number of ranks on its node
    host: str
    address: str  # at which other ranks connect to this rank
    cores: int | None = None  # reserved for this rank; None: the rank shares the cores of its process
    notes: tuple[str, ...] = ()  # parts of the requested CPU binding that could not be applied


def local_rank_info(rank: int, world: int) -> RankInfo:
    """Return the RankInfo of a rank when all ranks run on this machine."""
    return RankInfo(rank, world, rank, world, host=socket.gethostname(), address=LOOPBACK)


def read_slurm_rank(environment: Mapping[str, str] = os.environ) -> RankInfo:
    """Return the RankInfo that srun's environment variables give this process."""
    node = environment.get("SLURMD_NODENAME") or socket.gethostname()
    world = int(environment.get("SLURM_STEP_NUM_TASKS") or environment["SLURM_NTASKS"])
    local_world = _tasks_on_node(environment)
    return RankInfo(
        rank=int(environment["SLURM_PROCID"]),
        world=world,
        local_rank=int(environment["SLURM_LOCALID"]),
        local_world=local_world,
        host=node,
        address=LOOPBACK if world == local_world else node,
        cores=int(environment["SLURM_CPUS_PER_TASK"]) if "SLURM_CPUS_PER_TASK" in environment else None,
    )


def _tasks_on_node(environment: Mapping[str, str]) -> int:
    """Parse "4(x2),3" (four tasks on each of two nodes, three on the next) and return the count of this node."""
    counts: list[int] = []
    text = environment.get("SLURM_STEP_TASKS_PER_NODE") or environment.get("SLURM_TASKS_PER_NODE", "1")
    for part in text.split(","):
        count, _, times = part.partition("(x")
        counts += [int(count)] * int(times.rstrip(")") or 1)
    return counts[int(environment.get("SLURM_NODEID", "0"))]
