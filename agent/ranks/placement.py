"""Placement: which ranks this agent starts, and where all ranks of the attempt run."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

SLURM_VARIABLES = ("SLURM_JOB_ID", "SLURM_PROCID")


@dataclass(frozen=True)
class Rank:
    """One rank that this agent starts itself."""

    rank: int
    local_rank: int


@dataclass(frozen=True)
class Placement:
    """The ranks of one agent; `agents` agents carry out the attempt, and this one is number `agent`."""

    launcher: str
    agent: int
    agents: int
    node: int
    ranks: Sequence[Rank]  # empty where torchrun or mpirun starts them
    world: int
    local_world: int
    host: str
    hosts: Sequence[str]  # of every rank
    is_local: bool
    is_one_host: bool = False  # all ranks of the attempt are on this host

    @property
    def is_first(self) -> bool:
        """Whether this agent has rank 0, and so reports for the attempt."""
        return self.agent == 0

    @property
    def starts_launcher(self) -> bool:
        """Whether torchrun or mpirun starts the ranks."""
        return self.launcher in ("torchrun", "mpirun")


def is_slurm_job(spec: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether this process is part of a Slurm job of the run; a local run may start in a Slurm job's shell."""
    is_local = spec.get("resources", {}).get("kind", "local") == "local"
    return not is_local and all(name in environment for name in SLURM_VARIABLES)


def find_placement(spec: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> Placement:
    """Return the placement of this agent: from Slurm's variables, or all ranks on this machine."""
    nodes, local_world = _shape(spec.get("resources", {}))
    launcher = str(spec.get("launcher", "srun"))
    if not is_slurm_job(spec, environment):
        host = socket.gethostname()
        ranks = [] if launcher in ("torchrun", "mpirun") else [Rank(number, number) for number in range(local_world)]
        hosts = [host] * local_world
        return Placement(launcher, 0, 1, 0, ranks, local_world, local_world, host, hosts, True, is_one_host=True)
    host = environment.get("SLURMD_NODENAME") or socket.gethostname()
    names = expand_hosts(environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST", host))
    is_one_host = nodes == 1 and len(names) == 1
    if launcher == "srun":
        return replace(_one_rank(environment, host, names), is_one_host=is_one_host)
    agents = nodes if launcher == "torchrun" else 1
    number = int(environment["SLURM_PROCID"]) if launcher == "torchrun" else 0
    if launcher == "plain":
        return Placement(launcher, 0, 1, 0, [Rank(0, 0)], 1, 1, host, [host], False, is_one_host)
    hosts, world = [name for name in names[:nodes] for _ in range(local_world)], nodes * local_world
    return Placement(launcher, number, agents, number, [], world, local_world, host, hosts, False, is_one_host)


def _one_rank(environment: Mapping[str, str], host: str, names: Sequence[str]) -> Placement:
    rank, node = int(environment["SLURM_PROCID"]), int(environment.get("SLURM_NODEID", "0"))
    world = int(environment.get("SLURM_STEP_NUM_TASKS") or environment["SLURM_NTASKS"])
    text = environment.get("SLURM_STEP_TASKS_PER_NODE") or environment.get("SLURM_TASKS_PER_NODE", "1")
    counts = expand_counts(text)
    hosts = [name for name, count in zip(names, counts) for _ in range(count)]
    local_world = counts[node] if node < len(counts) else 1
    mine = [Rank(rank, int(environment.get("SLURM_LOCALID", "0")))]
    all_hosts = hosts if len(hosts) == world else [host] * world
    return Placement("srun", rank, world, node, mine, world, local_world, host, all_hosts, is_local=False)


def _shape(resources: Mapping[str, Any]) -> tuple[int, int]:
    """Return the number of nodes, and of ranks on each."""
    many_core = resources.get("many_core")
    per_node = many_core["chips"] * many_core["parts"] if many_core else resources.get("ranks_per_node", 1)
    return int(resources.get("nodes", 1)), int(per_node)


def worker_rank(launcher: str, environment: Mapping[str, str] = os.environ) -> tuple[int, int, int]:
    """Return rank, local rank and world of a process that torchrun or mpirun started."""
    if launcher == "torchrun":  # under srun's PMIx, the variables of MPI are those of torchrun's own agent
        return int(environment["RANK"]), int(environment["LOCAL_RANK"]), int(environment["WORLD_SIZE"])

    def first(*names: str) -> int:
        return int(next((environment[name] for name in names if name in environment), "0"))

    return (
        first("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"),
        first("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "LOCAL_RANK", "SLURM_LOCALID"),
        first("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE", "SLURM_STEP_NUM_TASKS"),
    )


def expand_counts(text: str) -> list[int]:
    """Return the tasks of each node from Slurm's "4(x2),3": [4, 4, 3]."""
    counts: list[int] = []
    for part in text.split(","):
        count, _, times = part.partition("(x")
        counts += [int(count)] * int(times.rstrip(")") or 1)
    return counts


def expand_hosts(text: str) -> list[str]:
    """Return the names in Slurm's host list: "n[1-2,07],gpu3" gives n1, n2, n07, gpu3."""
    return [name for part in re.findall(r"(?:[^,\[]|\[[^\]]*\])+", text) for name in _expand_one(part)]


def _expand_one(pattern: str) -> Iterator[str]:
    found = re.search(r"\[([^\]]*)\]", pattern)
    if not found:
        yield pattern
        return
    before, after = pattern[: found.start()], pattern[found.end() :]
    for part in found[1].split(","):
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            for rest in _expand_one(after):
                yield f"{before}{number:0{len(first)}}{rest}"
