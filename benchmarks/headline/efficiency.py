"""Efficiency from 1 to N ranks, torus against ring, strong and weak scaling (Mikami et al., 2018).

`make bench NAME=headline.efficiency` writes benchmarks/results/efficiency.json. The paper's efficiency on N ranks is
samples/s / (N x samples/s of one rank). A step is compute, then the all-reduce of the gradients, without overlap:

    weak (as in the paper):  E(N) = T1 / (T1 + t_N)         strong:  E(N) = T1 / (N (T1 / N + t_N))

The all-reduces are real, over shaped links. The compute is a wait of T1 = TIMES vectors over a link: a device that
computes leaves the processor to the all-reduce, and two cores cannot compute for 16 ranks. So the figures show what
the all-reduce costs, and nothing about the speed of a device.
"""

import os
from typing import Any

from benchmarks.allreduce.benchmark import bits_per_second
from benchmarks.headline.report import hosts_of_layout, shaped_links, write
from benchmarks.launcher import run_ranks

RATE = "100mbit"
LAYOUTS = ["1x1", "1x2", "1x4", "2x4", "3x4", "4x4"]
NBYTES = 2 << 20  # of the gradients
TIMES = 10.0
STEPS = 3


def main() -> None:
    """Measure, print and write the report."""
    load, rows = os.getloadavg()[0], list[dict[str, Any]]()
    compute_s = TIMES * NBYTES * 8 / bits_per_second(RATE)
    with shaped_links(RATE):
        for layout in LAYOUTS:
            hosts, per_host = hosts_of_layout(layout)
            task = {"bytes": NBYTES, "compute_s": compute_s, "steps": STEPS, "ranks_per_host": per_host}
            steps_s = run_ranks("benchmarks.headline.efficiency_rank", hosts, per_host, task)
            rows.append(row_of(len(hosts), per_host, steps_s, compute_s))
            write("efficiency", RATE, load, compute_s=compute_s, bytes=NBYTES, rows=rows)


def row_of(hosts: int, per_host: int, steps_s: dict[str, dict[str, float]], compute_s: float) -> dict[str, Any]:
    """Return and print the efficiencies of a layout."""
    ranks = hosts * per_host
    weak = {name: compute_s / of["weak"] for name, of in steps_s.items()}
    strong = {name: compute_s / (ranks * of["strong"]) for name, of in steps_s.items()}
    shown = ", ".join(f"{name} {weak[name]:.1%} weak, {strong[name]:.1%} strong" for name in steps_s)
    print(f"{ranks:3} ranks on {hosts} hosts: {shown}", flush=True)
    row = {"hosts": hosts, "ranks_per_host": per_host, "step_s": steps_s}
    return row | {"weak_efficiency": weak, "strong_efficiency": strong}


if __name__ == "__main__":
    main()
