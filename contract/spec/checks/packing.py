"""Several small runs in one job: what keeps runs from sharing one, and what such a job asks for."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from contract.api.cluster_report import Node
from contract.spec.resources import Local, Resources, Slurm
from contract.spec.run import RunSpec
from contract.validation import Fault

MOST = 64  # runs in a job
MAX_NODE_RANKS = 1024


def width(runs: int, pack: int | None) -> int:
    """How many of `runs` go into each job: as few jobs as may be, as even as may be."""
    jobs = -(-runs // (pack or 1))
    return -(-runs // jobs)


def together(need: Slurm, runs: int) -> Slurm:
    """What a job on one node asks for that carries so many runs of this need side by side."""
    asked = {
        "ranks_per_node": need.ranks_per_node * runs,
        "memory_gb": need.memory_gb and need.memory_gb * runs,
        "gres": need.gres and _times(need.gres, runs),
    }
    return need.model_copy(update=asked)


def room(need: Slurm, node: Node) -> int:
    """How many runs of this need a node has cpus, memory and devices for, side by side."""
    parts = [node.cpus // (need.ranks_per_node * need.rank_cpus)]
    if need.memory_gb:
        parts.append(node.memory_mb // (need.memory_gb * 1024))
    there = _devices(node.gres)
    parts += [there[name] // count for name, count in _devices(need.gres or "").items() if count]
    return min(parts)


def pack_misfits(pack: int | None, max_parallel: int | None, runs: Sequence[RunSpec]) -> Iterator[Fault]:
    """What keeps the runs of an experiment from sharing jobs, each kind of trouble once."""
    if pack is None:
        return
    if max_parallel is not None and max_parallel < pack:
        message = f"{max_parallel} runs at once are fewer than the {pack} of one job: raise it, or lower pack"
        yield Fault(path="max_parallel", message=message)
    told: set[str] = set()
    for number, run in enumerate(runs):
        if (why := _misfit(pack, run.resources)) and why not in told:
            told.add(why)
            yield Fault(path="pack", message=f"{why} (point {number})")


def _misfit(pack: int, need: Resources) -> str | None:
    if isinstance(need, Local):
        return "runs on this machine have no job to share: pack is for Slurm"
    if need.nodes > 1:
        return f"the runs of a pack share one node, and this one takes {need.nodes}"
    if need.many_core:
        return "a run with many_core takes its node's chips whole, so it can share none"
    if need.ranks_per_node * pack > MAX_NODE_RANKS:
        ranks = f"{pack} runs x {need.ranks_per_node} ranks = {need.ranks_per_node * pack}"
        return f"{ranks} ranks on one node, more than {MAX_NODE_RANKS}"
    if need.gres and _times(need.gres, pack) is None:
        return f"gres '{need.gres}' cannot be multiplied: it must read NAME, NAME:COUNT or NAME:TYPE:COUNT"
    return None


def _devices(gres: str) -> Counter[str]:
    """gpu:a100:4(S:0-1) as {"gpu": 4, "gpu:a100": 4}: whoever asks for a plain name takes any type of it."""
    found: Counter[str] = Counter()
    for part in filter(None, re.sub(r":?\([^)]*\)", "", gres).split(",")):
        name, *more = part.strip().split(":")
        count = int(more.pop()) if more and more[-1].isdecimal() else 1
        found.update({name: count} | ({f"{name}:{kind}": count for kind in more[:1]}))
    return found


def _times(gres: str, runs: int) -> str | None:
    """So many times gpu:a100:2 or gpu; none for what has another count than a plain number."""
    parts = []
    for asked in gres.split(","):
        found = re.fullmatch(r"(?!none)([A-Za-z][\w./-]*(?::[\w.-]*[A-Za-z_][\w.-]*)?)(?::([1-9]\d*))?", asked)
        if not found or re.search(r":\d+[KMGTP]$", found[1], re.I):
            return None
        parts.append(f"{found[1]}:{int(found[2] or 1) * runs}")
    return ",".join(parts)
