"""Write the NUMA topology of other hosts to a folder, as Linux shows it under /sys."""

from collections.abc import Sequence
from pathlib import Path

LOCAL, QUADRANT, NEAR_FAST, FAR_FAST = 10, 21, 31, 41  # distances, as the firmware of a Knights Landing reports them


def knl(root: Path, *, quadrants: Sequence[int], is_flat: bool) -> Path:
    """Write a chip with these cores in each quadrant (one number: quad mode), four threads each, MCDRAM nodes if flat.

    Linux numbers the first threads of all cores, then the second ones, and so on.
    """
    cores, first, groups = sum(quadrants), 0, []
    for size in quadrants:
        groups.append([core + thread * cores for thread in range(4) for core in range(first, first + size)])
        first += size
    count = len(groups)
    rows = []
    for node in range(count * (2 if is_flat else 1)):
        home = node % count
        near, far = (LOCAL, QUADRANT) if node < count else (NEAR_FAST, FAR_FAST)
        row = [near if other == home else far for other in range(count)]
        if is_flat:
            row += [NEAR_FAST if other == home else FAR_FAST for other in range(count)]
        rows.append(row)
    siblings = [[core + thread * cores for thread in range(4)] for core in range(cores)]
    return host(root, [*groups, *([[]] * (count if is_flat else 0))], rows, siblings)


def host(
    root: Path, nodes: Sequence[Sequence[int]], distances: Sequence[Sequence[int]], cores: Sequence[Sequence[int]]
) -> Path:
    """Write a host of nodes with these cpus, and cores of these cpus."""
    for number, cpus in enumerate(nodes):
        folder = root / "node" / f"node{number}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text(",".join(map(str, cpus)) + "\n")
        (folder / "distance").write_text(" ".join(map(str, distances[number])) + "\n")
    for core in cores:
        for cpu in core:
            folder = root / "cpu" / f"cpu{cpu}" / "topology"
            folder.mkdir(parents=True)
            (folder / "thread_siblings_list").write_text(",".join(map(str, core)) + "\n")
    (root / "cpu" / "cpufreq").mkdir(parents=True, exist_ok=True)  # a real tree has this folder, which is no cpu
    return root
