"""The share of communication in the paper's eight parts, for the EASGD variants (You, Buluc & Demmel, 2017, table 3).

`make bench NAME=headline.eight_parts` writes benchmarks/results/eight_parts.json. The paper's parts, and what they are
on hosts without GPUs:

| paper | here |
|---|---|
| data I/O | `data_s`: the samples are read, once a run |
| initialization | `initialization_s`: model, collectives and connections, once a run |
| GPU-GPU parameters | `replicas_s`: exchanges among replicas that each have a copy of the center (Sync EASGD 2 and 3) |
| CPU-GPU data | `input_s`: the wait for a batch |
| CPU-GPU parameters | `center_s`: exchanges with a center at rank 0 (Original EASGD, Sync EASGD 1) |
| forward and backward | `compute_s` |
| GPU update | `update_s`: of the replica, and on rank 0 of its center: the engine counts both as one |
| CPU update | in `update_s` |

As in the paper the first two are not part of a step. A wait for slower ranks (`idle_s`) is communication.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.easgd.benchmark import EPOCHS, HOSTS, RANKS_PER_HOST, RATE, read_rates, spec
from benchmarks.easgd.run_rows import read_run
from benchmarks.headline.report import shaped_links, write
from benchmarks.launcher import lab_hosts, run_ranks
from contract import metric_names
from contract.folder.run_folder import RunFolder

METHODS = ["Original EASGD", "Sync EASGD 1", "Sync EASGD 2", "Sync EASGD 3"]
AT_A_CENTER = METHODS[:2]
PAPER_SHARE = {"Original EASGD": 0.87, "Sync EASGD 3": 0.14}
SEEDS = [1]


def main() -> None:
    """Measure, print and write the report."""
    load, rates, rows = os.getloadavg()[0], read_rates(), list[dict[str, Any]]()
    with shaped_links(RATE):
        for seed in SEEDS:  # the methods take turns
            rows += [measure(method, rates[method], seed) for method in METHODS]
    means = [mean_row(method, [row for row in rows if row["method"] == method]) for method in METHODS]
    for row in means:
        shown = ", ".join(f"{name[:-2]} {value * 1e3:.0f}" for name, value in row["parts_s"].items())
        paper = f"; paper {PAPER_SHARE[row['method']]:.0%}" if row["method"] in PAPER_SHARE else ""
        print(f"{row['method']:15} communication {row['communication_share']:.1%}{paper}; ms: {shown}")
    write("eight_parts", RATE, load, layout=f"{HOSTS}x{RANKS_PER_HOST}", means=means, rows=rows)


def measure(method: str, rate: float, seed: int) -> dict[str, Any]:
    """Return the eight parts of a run; those of a step are means over the ranks and steps."""
    with tempfile.TemporaryDirectory() as home:
        folder = RunFolder(Path(home) / "run")
        folder.prepare(spec((method, rate, seed), EPOCHS))
        task = {"folder": home, "runs": ["run"], "ranks_per_host": RANKS_PER_HOST}
        once = run_ranks("benchmarks.headline.eight_parts_rank", lab_hosts(HOSTS), RANKS_PER_HOST, task)
        run = read_run(folder)
    parts = run["parts_s"]
    exchanged_s = parts[metric_names.COMMUNICATION_S] + parts[metric_names.IDLE_S]
    is_at_center = method in AT_A_CENTER
    eight = {
        **once,
        "replicas_s": 0.0 if is_at_center else exchanged_s,
        "center_s": exchanged_s if is_at_center else 0.0,
        **{name: parts[name] for name in (metric_names.INPUT_S, metric_names.COMPUTE_S, metric_names.UPDATE_S)},
    }
    print(json.dumps({"method": method, "seed": seed, **eight}), flush=True)
    return {"method": method, "seed": seed, "parts_s": eight, "communication_share": run["communication_share"]}


def mean_row(method: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the means of a method over its seeds."""
    parts = {name: sum(row["parts_s"][name] for row in rows) / len(rows) for name in rows[0]["parts_s"]}
    share = sum(row["communication_share"] for row in rows) / len(rows)
    return {"method": method, "parts_s": parts, "communication_share": share}


if __name__ == "__main__":
    main()
