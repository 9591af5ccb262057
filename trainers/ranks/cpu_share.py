"""Which cores and which memory of a host each of its ranks gets, decided alike by all of them.

P parts of a host with n NUMA nodes: where P is a multiple of n, every node is cut into P / n parts; where n is a
multiple of P, every part is n / P whole nodes (on a chip in SNC-4 with P = 4, a quadrant each); else the cores are cut
in their order. Parts of one node have equally many cores.

Fast memory that a process can choose (MCDRAM in flat or hybrid mode) is a node without processors. The nearest ones to
a part's own nodes are its: quad has one for all, SNC-4 one for each quadrant.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trainers.ranks.numa_topology import Node, Topology

Cores = Sequence[frozenset[int]]


@dataclass(frozen=True)
class Share:
    """What one rank gets; without cpus it is bound to none, and the notes say why."""

    cores: int  # to compute with
    cpus: frozenset[int] = frozenset()
    memory_nodes: tuple[int, ...] = ()  # to prefer; none: as the kernel has it
    notes: tuple[str, ...] = ()


def share(
    topology: Topology, allowed: frozenset[int], *, part: int, parts: int, most_cores: int, wants_fast: bool
) -> Share:
    """The share of part number `part` of the cpus that this process may use, of at most so many cores."""
    cores = topology.cores(allowed)
    if parts > len(cores):
        note = f"not bound: {parts} ranks share {len(cores)} core{'s' if len(cores) > 1 else ''}"
        return Share(1, notes=(note,))
    mine = _cut(topology, allowed, part, parts)[:most_cores]
    cpus = frozenset[int]().union(*mine)
    if not wants_fast:
        return Share(len(mine), cpus)
    fast = _nearest_fast(topology.nodes, cpus)
    notes = () if fast else ("no memory policy: this host has no NUMA node without processors",)
    return Share(len(mine), cpus, fast, notes)


def _cut(topology: Topology, allowed: frozenset[int], part: int, parts: int) -> Cores:
    groups = [cores for node in topology.nodes if (cores := topology.cores(node.cpus & allowed))]
    if groups and parts % len(groups) == 0:
        each = parts // len(groups)  # parts of a node
        if all(len(cores) >= each for cores in groups):
            return _block(groups[part // each], part % each, each)
    if groups and len(groups) % parts == 0:
        each = len(groups) // parts  # nodes of a part
        return [core for cores in groups[part * each : (part + 1) * each] for core in cores]
    return _block(topology.cores(allowed), part, parts)


def _block(cores: Cores, number: int, blocks: int) -> Cores:
    size = len(cores) // blocks
    return cores[number * size : (number + 1) * size]


def _nearest_fast(nodes: Sequence[Node], cpus: frozenset[int]) -> tuple[int, ...]:
    """The nodes without processors that are the nearest to one of those where the cpus are."""
    fast = [node.number for node in nodes if not node.cpus]
    found: set[int] = set()
    for node in nodes:
        if fast and node.cpus & cpus:
            least = min(node.distances.get(number, 0) for number in fast)
            found |= {number for number in fast if node.distances.get(number, 0) == least}
    return tuple(sorted(found))
