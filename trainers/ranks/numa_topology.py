"""NumaTopology: the NUMA nodes and cores of this host, as Linux reports them under /sys."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

SYSTEM = Path("/sys/devices/system")


@dataclass(frozen=True)
class NumaNode:
    """A NUMA node: memory, and the processors next to it, if any."""

    number: int
    cpus: frozenset[int]
    distances: Mapping[int, int]  # to each node, including itself, by node number


@dataclass(frozen=True)
class NumaTopology:
    """The nodes of a host, and for each cpu the cpus of its core."""

    nodes: tuple[NumaNode, ...]  # empty if the kernel reports none
    siblings: Mapping[int, frozenset[int]]  # by cpu number

    def cores(self, cpus: frozenset[int]) -> list[frozenset[int]]:
        """Group the cpus by core; sort the cores by their lowest cpu."""
        return sorted({self.siblings.get(cpu, frozenset({cpu})) & cpus for cpu in cpus}, key=min)


def read_topology(system: Path) -> NumaTopology:
    """Read the topology; without information from the kernel or container, nodes and siblings are empty."""
    folders = _numbered_folders(system / "node", "node")
    nodes = tuple(
        NumaNode(number, _read_list(folder / "cpulist"), _read_distances(folder / "distance", list(folders)))
        for number, folder in folders.items()
    )
    cpus = _numbered_folders(system / "cpu", "cpu")
    siblings = {cpu: _read_list(path / "topology" / "thread_siblings_list") or {cpu} for cpu, path in cpus.items()}
    return NumaTopology(nodes, {cpu: frozenset(core) for cpu, core in siblings.items()})


def _numbered_folders(folder: Path, prefix: str) -> dict[int, Path]:
    """Return the folders node0, node1... by number, in order."""
    found = {path.name.removeprefix(prefix): path for path in folder.glob(f"{prefix}[0-9]*")}
    return {int(name): found[name] for name in sorted(filter(str.isdigit, found), key=int)}


def _read_distances(path: Path, numbers: list[int]) -> dict[int, int]:
    try:
        distances = [int(word) for word in path.read_text().split()]
    except OSError:
        return {}
    return dict(zip(numbers, distances, strict=False))


def _read_list(path: Path) -> frozenset[int]:
    """Parse "0-3,8" as 0, 1, 2, 3 and 8."""
    try:
        text = path.read_text().strip()
    except OSError:
        return frozenset()
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)
