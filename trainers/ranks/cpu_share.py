"""CpuShare: the cores and memory nodes of a host for one of its ranks. All ranks compute the same division.

P parts of a host with n NUMA nodes: if P is a multiple of n, each node is divided into P / n parts; if n is a multiple
of P, each part is n / P whole nodes (on a chip in SNC-4 mode with P = 4, one quadrant each); otherwise the cores are
divided in order. The parts of one node have the same number of cores.

Fast memory that a process can select (MCDRAM in flat or hybrid mode) is a NUMA node without processors. A part gets the
fast nodes that are nearest to its own nodes: in quad mode all parts share one, in SNC-4 mode each quadrant has one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from trainers.ranks.numa_topology import NumaNode, NumaTopology

Cores = Sequence[frozenset[int]]


@dataclass(frozen=True)
class CpuShare:
    """The share of one rank; if `cpus` is empty, the rank is not bound and the notes say why."""

    cores: int  # number of threads to compute with
    cpus: frozenset[int] = frozenset()
    memory_nodes: tuple[int, ...] = ()  # preferred nodes; empty: the kernel's default policy
    notes: tuple[str, ...] = ()


def assign_share(
    topology: NumaTopology, allowed: frozenset[int], *, part: int, parts: int, most_cores: int, wants_fast: bool
) -> CpuShare:
    """Return the share of part number `part`, at most `most_cores` cores, of the cpus that this process may use."""
    cores = topology.cores(allowed)
    if parts > len(cores):
        note = f"not bound: {parts} ranks share {len(cores)} core{'s' if len(cores) > 1 else ''}"
        return CpuShare(1, notes=(note,))
    own = _select_cores(topology, allowed, part, parts)[:most_cores]
    cpus = frozenset[int]().union(*own)
    if not wants_fast:
        return CpuShare(len(own), cpus)
    fast = _nearest_fast_nodes(topology.nodes, cpus)
    notes = () if fast else ("no memory policy: this host has no NUMA node without processors",)
    return CpuShare(len(own), cpus, fast, notes)


def _select_cores(topology: NumaTopology, allowed: frozenset[int], part: int, parts: int) -> Cores:
    groups = [cores for node in topology.nodes if (cores := topology.cores(node.cpus & allowed))]
    if groups and parts % len(groups) == 0:
        parts_per_node = parts // len(groups)
        if all(len(cores) >= parts_per_node for cores in groups):
            return _block(groups[part // parts_per_node], part % parts_per_node, parts_per_node)
    if groups and len(groups) % parts == 0:
        nodes_per_part = len(groups) // parts
        return [core for cores in groups[part * nodes_per_part : (part + 1) * nodes_per_part] for core in cores]
    return _block(topology.cores(allowed), part, parts)


def _block(cores: Cores, number: int, blocks: int) -> Cores:
    size = len(cores) // blocks
    return cores[number * size : (number + 1) * size]


def _nearest_fast_nodes(nodes: Sequence[NumaNode], cpus: frozenset[int]) -> tuple[int, ...]:
    """Return the nodes without processors that are nearest to any of the nodes of the cpus."""
    fast = [node.number for node in nodes if not node.cpus]
    found: set[int] = set()
    for node in nodes:
        if fast and node.cpus & cpus:
            least = min(node.distances.get(number, 0) for number in fast)
            found |= {number for number in fast if node.distances.get(number, 0) == least}
    return tuple(sorted(found))
