"""Where one rank stands: its number, its world, its node."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    rank: int
    world: int
    local_rank: int  # its number on its node
    local_world: int  # how many ranks are on its node
    host: str
    address: str  # where the other ranks reach this one
    cores: int | None = None  # that are this rank's alone; None: it shares what its process may use
    notes: tuple[str, ...] = ()  # what was asked for its share of a many-core chip and not done


def here(rank: int, world: int) -> Place:
    """The place of a rank whose whole world is on this machine."""
    return Place(rank, world, rank, world, host=socket.gethostname(), address="127.0.0.1")


def in_slurm(environment: Mapping[str, str] = os.environ) -> Place:
    """The place that srun gave this process."""
    node = environment.get("SLURMD_NODENAME") or socket.gethostname()
    return Place(
        rank=int(environment["SLURM_PROCID"]),
        world=int(environment.get("SLURM_STEP_NUM_TASKS") or environment["SLURM_NTASKS"]),
        local_rank=int(environment["SLURM_LOCALID"]),
        local_world=_tasks_here(environment),
        host=node,
        address=node,
        cores=int(environment["SLURM_CPUS_PER_TASK"]) if "SLURM_CPUS_PER_TASK" in environment else None,
    )


def _tasks_here(environment: Mapping[str, str]) -> int:
    """Read "4(x2),3" (four tasks on each of two nodes, three on the next) at this node's number."""
    counts: list[int] = []
    spelled = environment.get("SLURM_STEP_TASKS_PER_NODE") or environment.get("SLURM_TASKS_PER_NODE", "1")
    for part in spelled.split(","):
        count, _, times = part.partition("(x")
        counts += [int(count)] * int(times.rstrip(")") or 1)
    return counts[int(environment.get("SLURM_NODEID", "0"))]
