"""p against log p: the parameter server and the reduction tree from 2 to 6 hosts and 2 to 12 ranks (FireCaffe, 2015).

`make bench NAME=headline.server_and_tree` writes benchmarks/results/server_and_tree.json. FireCaffe counts |W| p / rate
for a server and 2 |W| log2(p) / rate for a tree. Here the server is one of the p workers, so p - 1 vectors enter and
leave it. A vector of one segment travels up, then down, as in the paper: 2 (p - 1) against 2 ceil(log2 p) vectors. A
vector of several segments uses both directions of the links at once: half as long, the same ratio. On two ranks a host
the vectors between ranks of one host need no link.
"""

import os
from math import ceil, log2
from typing import Any

from benchmarks.allreduce.benchmark import bits_per_second
from benchmarks.headline.report import hosts_of_layout, shaped_links, write
from benchmarks.launcher import run_ranks

RATE = "100mbit"
LAYOUTS = ["2x1", "3x1", "4x1", "5x1", "6x1", "2x2", "3x2", "4x2", "5x2", "6x2"]
ONE_SEGMENT, SEGMENTS = 2 << 20, 7 << 20  # bytes; the second is a quarter of NiN's 30 MB, in eight segments
ALGORITHMS = ["server", "tree", "tree_of_ranks"]


def main() -> None:
    """Measure, print and write the report."""
    load, rows = os.getloadavg()[0], list[dict[str, Any]]()
    with shaped_links(RATE):
        for layout in LAYOUTS:
            rows += measure_layout(layout)
            write("server_and_tree", RATE, load, rows=rows)  # after every layout, because the whole takes minutes


def measure_layout(layout: str) -> list[dict[str, Any]]:
    """Return a row for each vector: the times in vectors over a link, and the ratio of server and tree."""
    hosts, per_host = hosts_of_layout(layout)
    ranks = len(hosts) * per_host
    # on one rank a host both trees are the same
    names = ALGORITHMS if per_host > 1 else ALGORITHMS[:2]
    task = {"sizes": [ONE_SEGMENT, SEGMENTS], "ranks_per_host": per_host, "repeats": 2, "algorithms": names}
    found = run_ranks("benchmarks.allreduce.rank", hosts, per_host, task)["rows"]
    rows = []
    for nbytes in (ONE_SEGMENT, SEGMENTS):
        vector_s = nbytes * 8 / bits_per_second(RATE)
        seconds = {row["algorithm"]: row["seconds"] for row in found if row["bytes"] == nbytes}
        row: dict[str, Any] = {"hosts": len(hosts), "ranks_per_host": per_host, "bytes": nbytes, "seconds": seconds}
        row["vectors"] = {name: spent_s / vector_s for name, spent_s in seconds.items()}
        row["ratio"] = seconds["server"] / seconds["tree"]
        row["counted_ratio"] = (ranks - per_host) / ceil(log2(len(hosts)))
        row["paper_ratio"] = ranks / (2 * log2(ranks))
        times = ", ".join(f"{name} {value:.2f}" for name, value in row["vectors"].items())
        print(
            f"{layout} {nbytes >> 20} MiB, in vectors over a link: {times}; server / tree {row['ratio']:.2f} "
            f"(by count {row['counted_ratio']:.2f}, FireCaffe's p / 2 log2 p {row['paper_ratio']:.2f})",
            flush=True,
        )
        rows.append(row)
    return rows


if __name__ == "__main__":
    main()
