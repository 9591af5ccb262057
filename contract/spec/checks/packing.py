"""Checks and resources of packed jobs, in which several small runs share one Slurm job."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from contract.api.cluster_report import Node
from contract.spec.any_run import AnyRun
from contract.spec.resources import Local, Resources, Slurm
from contract.validation import ValidationIssue

MAX_RUNS_PER_JOB = 64
MAX_NODE_RANKS = 1024


def runs_per_job(runs: int, pack: int | None) -> int:
    """Return the number of runs per job: as few jobs as possible, of nearly equal size."""
    jobs = -(-runs // (pack or 1))
    return -(-runs // jobs)


def combined_resources(need: Slurm, runs: int) -> Slurm:
    """Return the resources of a one-node job for `runs` runs that each need `need`."""
    asked = {
        "ranks_per_node": need.ranks_per_node * runs,
        "memory_gb": need.memory_gb and need.memory_gb * runs,
        "gres": need.gres and _multiply_gres(need.gres, runs),
    }
    return need.model_copy(update=asked)


def node_capacity(need: Slurm, node: Node) -> int:
    """Return how many runs that each need `need` fit on `node` by cpus, memory and devices."""
    parts = [node.cpus // (need.ranks_per_node * need.rank_cpus)]
    if need.memory_gb:
        parts.append(node.memory_mb // (need.memory_gb * 1024))
    devices = count_devices(node.gres)
    parts += [devices[name] // count for name, count in count_devices(need.devices or "").items() if count]
    return min(parts)


def check_packing(pack: int | None, max_parallel: int | None, runs: Sequence[AnyRun]) -> Iterator[ValidationIssue]:
    """Yield an issue for each distinct reason why the runs of an experiment cannot share jobs."""
    if pack is None:
        return
    if max_parallel is not None and max_parallel < pack:
        message = (
            f"{max_parallel} concurrent runs are fewer than the {pack} runs of a job: raise this limit or lower pack"
        )
        yield ValidationIssue(path="max_parallel", message=message)
    reported: set[str] = set()
    for number, run in enumerate(runs):
        if (reason := _packing_obstacle(pack, run)) and reason not in reported:
            reported.add(reason)
            yield ValidationIssue(path="pack", message=f"{reason} (point {number})")


def _packing_obstacle(pack: int, run: AnyRun) -> str | None:
    need: Resources = run.resources
    if isinstance(need, Local):
        return "pack needs Slurm: local runs cannot share a job"
    if need.nodes > 1:
        return f"packed runs share one node, but this run needs {need.nodes} nodes"
    if run.sharing_obstacle:
        return run.sharing_obstacle
    if need.many_core:
        return "a run with many_core needs whole chips, so it cannot share a node"
    if need.ranks_per_node * pack > MAX_NODE_RANKS:
        ranks = f"{pack} runs x {need.ranks_per_node} ranks = {need.ranks_per_node * pack}"
        return f"{ranks} ranks on one node, more than {MAX_NODE_RANKS}"
    if need.gres and _multiply_gres(need.gres, pack) is None:
        return f"gres '{need.gres}' cannot be multiplied: write NAME, NAME:COUNT or NAME:TYPE:COUNT"
    return None


def count_devices(gres: str) -> Counter[str]:
    """Return {"gpu": 4, "gpu:a100": 4} for gpu:a100:4(S:0-1), because a request for "gpu" accepts any type."""
    found: Counter[str] = Counter()
    for part in filter(None, re.sub(r":?\([^)]*\)", "", gres).split(",")):
        name, *more = part.strip().split(":")
        count = int(more.pop()) if more and more[-1].isdecimal() else 1
        found.update({name: count} | ({f"{name}:{kind}": count for kind in more[:1]}))
    return found


def job_devices(need: Resources) -> int:
    """Return the number of a job's GPUs; without any, of its many-core chips, and without those of its ranks."""
    if need.kind == "local":
        return need.world * (need.gpus_per_rank or 1)
    if gpus := count_devices(need.devices or "")["gpu"]:
        return need.nodes * gpus
    return need.nodes * need.many_core.chips if need.many_core else need.world


def _multiply_gres(gres: str, runs: int) -> str | None:
    """Return `gres` with its counts multiplied by `runs`; None for a count that is not a plain number."""
    parts = []
    for asked in gres.split(","):
        found = re.fullmatch(r"(?!none)([A-Za-z][\w./-]*(?::[\w.-]*[A-Za-z_][\w.-]*)?)(?::([1-9]\d*))?", asked)
        if not found or re.search(r":\d+[KMGTP]$", found[1], re.I):
            return None
        parts.append(f"{found[1]}:{int(found[2] or 1) * runs}")
    return ",".join(parts)
