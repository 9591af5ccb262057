"""The NUMA nodes and cores of this host, as Linux tells them below /sys."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SYSTEM = Path("/sys/devices/system")


@dataclass(frozen=True)
class Node:
    """A NUMA node: memory, and the processors next to it if there are any."""

    number: int
    cpus: frozenset[int]
    distances: Mapping[int, int]  # to each node, itself among them, by its number


@dataclass(frozen=True)
class Topology:
    nodes: tuple[Node, ...]  # none where the kernel tells none
    siblings: Mapping[int, frozenset[int]]  # by its number, the cpus of each cpu's core

    def cores(self, cpus: frozenset[int]) -> list[frozenset[int]]:
        """These cpus core by core, the core of the lowest first."""
        return sorted({self.siblings.get(cpu, frozenset({cpu})) & cpus for cpu in cpus}, key=min)


def read(system: Path) -> Topology:
    """Read what there is; a kernel or a container that tells nothing has neither nodes nor siblings."""
    folders = _numbered(system / "node", "node")
    nodes = tuple(
        Node(number, _list(folder / "cpulist"), _distances(folder / "distance", list(folders)))
        for number, folder in folders.items()
    )
    cpus = _numbered(system / "cpu", "cpu")
    siblings = {cpu: _list(path / "topology" / "thread_siblings_list") or {cpu} for cpu, path in cpus.items()}
    return Topology(nodes, {cpu: frozenset(core) for cpu, core in siblings.items()})


def _numbered(folder: Path, prefix: str) -> dict[int, Path]:
    """node0, node1... by their numbers, in order."""
    found = {path.name.removeprefix(prefix): path for path in folder.glob(f"{prefix}[0-9]*")}
    return {int(name): found[name] for name in sorted(filter(str.isdigit, found), key=int)}


def _distances(path: Path, numbers: list[int]) -> dict[int, int]:
    try:
        told = [int(word) for word in path.read_text().split()]
    except OSError:
        return {}
    return dict(zip(numbers, told, strict=False))


def _list(path: Path) -> frozenset[int]:
    """Read "0-3,8" as 0, 1, 2, 3 and 8."""
    try:
        spelled = path.read_text().strip()
    except OSError:
        return frozenset()
    found: set[int] = set()
    for part in filter(None, spelled.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)
