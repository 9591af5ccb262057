"""This process takes its share of a many-core host: its cores, and its memory by numactl.

All before torch is loaded, so that the threads of its pools are bound as well. A memory policy has to stand before
memory is taken, and it is numactl's to set: the process starts itself anew under it, once, and then knows by a variable
what it has. What it was bound to is read from /proc afterwards, so that a run says what is and not what was meant.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from contract.folder.cpu_binding import Binding
from contract.spec.many_core import ManyCore
from trainers.ranks import numa_topology as topology
from trainers.ranks.cpu_share import Share, share
from trainers.ranks.rank_info import Place

TAKEN = "BIGBATCH_SHARE"  # in the environment of a process that runs under numactl: what it has taken
PROC = Path("/proc/self")


def take(many_core: ManyCore, place: Place, *, rank_cpus: int) -> Place:
    """Bind this process, and start it anew where a memory policy is wanted; return its place with its cores."""
    if TAKEN in os.environ:
        told = json.loads(os.environ[TAKEN])
        return replace(place, cores=told["cores"], notes=tuple(told["notes"]))
    mine = _share(many_core, place, rank_cpus)
    if mine.cpus:
        try:
            os.sched_setaffinity(0, mine.cpus)
        except OSError as error:  # a site may forbid it; the run goes on
            mine = replace(mine, notes=(*mine.notes, f"not bound: {error.strerror}"))
    if mine.memory_nodes:
        mine = _start_anew(mine)
    return replace(place, cores=mine.cores, notes=mine.notes)


def told(place: Place, *, threads: int) -> Binding:
    """What the kernel says of this process."""
    cpus, memory = _line("status", "Cpus_allowed_list"), _policy()
    return Binding(rank=place.rank, host=place.host, cpus=cpus, threads=threads, memory=memory, notes=list(place.notes))


def _share(many_core: ManyCore, place: Place, rank_cpus: int) -> Share:
    if not hasattr(os, "sched_setaffinity"):
        return Share(rank_cpus, notes=(f"not bound: {sys.platform} binds no process",))
    return share(
        topology.read(topology.SYSTEM),
        frozenset(os.sched_getaffinity(0)),
        part=place.local_rank,
        parts=place.local_world,
        most_cores=rank_cpus,
        wants_fast=many_core.uses_fast_nodes,
    )


def _start_anew(mine: Share) -> Share:
    """Go on as the same command under numactl; return only where that cannot be."""
    numactl = shutil.which("numactl") or ""
    under = [numactl, policy(mine.memory_nodes), sys.executable]
    why_not = _obstacle(under)
    if why_not is None:
        sys.stdout.flush()
        taken = json.dumps({"cores": mine.cores, "notes": mine.notes})
        os.execve(numactl, [*under, *sys.orig_argv[1:]], {**os.environ, TAKEN: taken})
    nodes = ",".join(map(str, mine.memory_nodes))
    return replace(mine, notes=(*mine.notes, f"no memory policy for nodes {nodes}: {why_not}"))


def _obstacle(under: Sequence[str]) -> str | None:
    """Why nothing can be started under numactl here; None when it can."""
    if not under[0]:
        return "numactl is not installed"
    tried = subprocess.run([*under, "-c", ""], capture_output=True, text=True)
    if tried.returncode == 0:
        return None
    # as in a container without the right to set a policy
    return " ".join(tried.stderr.split()) or f"numactl ended with {tried.returncode}"


def policy(nodes: Sequence[int]) -> str:
    """One node is preferred. Several are taken in turns: a kernel before 5.15 can prefer but one. Both may overflow."""
    return f"--preferred={nodes[0]}" if len(nodes) == 1 else f"--interleave={','.join(map(str, nodes))}"


def _line(file: str, name: str) -> str:
    try:
        lines = (PROC / file).read_text().splitlines()
    except OSError:
        return "unknown"
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:")), "unknown")


def _policy() -> str:
    """The policy of this process's memory, which stands behind the address of every piece of it."""
    try:
        return (PROC / "numa_maps").read_text().split(maxsplit=2)[1]
    except (OSError, IndexError):
        return "unknown"
