"""Bind this process to its share of a many-core host: to cores by affinity, and to memory by numactl.

The binding precedes the import of torch, so that torch's thread pools inherit it. A memory policy must precede the
allocation of memory, and numactl sets it: the process replaces itself once by the same command under numactl, and an
environment variable records what it was bound to. The report of the binding is read from /proc, so that it shows the
actual binding and not the requested one.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from contract.folder.cpu_binding import CpuBinding
from contract.spec.many_core import ManyCore
from trainers.ranks import numa_topology
from trainers.ranks.cpu_share import CpuShare, assign_share
from trainers.ranks.rank_info import RankInfo

BOUND_SHARE = "BIGBATCH_SHARE"  # environment variable of a process that runs under numactl: its share, as JSON
PROC = Path("/proc/self")


def bind_process(many_core: ManyCore, rank_info: RankInfo, *, rank_cpus: int) -> RankInfo:
    """Bind this process, restarting it under numactl if it needs a memory policy; return its RankInfo with its cores.

    A binding that is not possible becomes a note, and the run goes on.
    """
    if BOUND_SHARE in os.environ:
        bound = json.loads(os.environ[BOUND_SHARE])
        return replace(rank_info, cores=bound["cores"], notes=tuple(bound["notes"]))
    share = _own_share(many_core, rank_info, rank_cpus)
    if share.cpus:
        try:
            os.sched_setaffinity(0, share.cpus)
        except OSError as error:  # a cluster may forbid it
            share = replace(share, notes=(*share.notes, f"not bound: {error.strerror}"))
    if share.memory_nodes:
        share = _restart_under_numactl(share)
    return replace(rank_info, cores=share.cores, notes=share.notes)


def read_binding(rank_info: RankInfo, *, threads: int) -> CpuBinding:
    """Return the binding of this process as the kernel reports it."""
    return CpuBinding(
        rank=rank_info.rank,
        host=rank_info.host,
        cpus=_read_status("Cpus_allowed_list"),
        threads=threads,
        memory=_read_memory_policy(),
        notes=list(rank_info.notes),
    )


def _own_share(many_core: ManyCore, rank_info: RankInfo, rank_cpus: int) -> CpuShare:
    if not hasattr(os, "sched_setaffinity"):
        return CpuShare(rank_cpus, notes=(f"not bound: {sys.platform} binds no process",))
    return assign_share(
        numa_topology.read_topology(numa_topology.SYSTEM),
        frozenset(os.sched_getaffinity(0)),
        part=rank_info.local_rank,
        parts=rank_info.local_world,
        most_cores=rank_cpus,
        wants_fast=many_core.uses_fast_nodes,
    )


def _restart_under_numactl(share: CpuShare) -> CpuShare:
    """Replace this process by the same command under numactl; if that is not possible, return the share with a note."""
    numactl = shutil.which("numactl") or ""
    command = [numactl, numactl_option(share.memory_nodes), sys.executable]
    obstacle = _find_obstacle(command)
    if obstacle is None:
        sys.stdout.flush()
        bound = json.dumps({"cores": share.cores, "notes": share.notes})
        os.execve(numactl, [*command, *sys.orig_argv[1:]], {**os.environ, BOUND_SHARE: bound})
    nodes = ",".join(map(str, share.memory_nodes))
    return replace(share, notes=(*share.notes, f"no memory policy for nodes {nodes}: {obstacle}"))


def _find_obstacle(command: Sequence[str]) -> str | None:
    """Return why Python cannot start under numactl on this host, or None if it can."""
    if not command[0]:
        return "numactl is not installed"
    done = subprocess.run([*command, "-c", ""], capture_output=True, text=True)
    if done.returncode == 0:
        return None
    # for example, a container may lack the right to set a memory policy
    return " ".join(done.stderr.split()) or f"numactl ended with {done.returncode}"


def numactl_option(nodes: Sequence[int]) -> str:
    """Return numactl's option for memory nodes: prefer a single node, interleave several.

    A kernel before 5.15 can prefer only one node. Both policies fall back to other nodes when these are full.
    """
    return f"--preferred={nodes[0]}" if len(nodes) == 1 else f"--interleave={','.join(map(str, nodes))}"


def _read_status(name: str) -> str:
    try:
        lines = (PROC / "status").read_text().splitlines()
    except OSError:
        return "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:")), "unknown")


def _read_memory_policy() -> str:
    """Return this process's memory policy: the second word of each line of numa_maps, after the address."""
    try:
        return (PROC / "numa_maps").read_text().split(maxsplit=2)[1]
    except (OSError, IndexError):
        return "unknown"
