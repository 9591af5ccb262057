"""Speed-up over one rank with the accuracy held, by FireCaffe's rules (Iandola et al., 2015).

`make bench NAME=headline.speedup` writes benchmarks/results/speedup.json. The rules: a public data set (the digits of
UCI), every hyper-parameter stated (the specs are in the report), the speed-up over one rank, and the accuracy that
every run reached. The paper's two steps: more ranks at the same batch, then a batch four times as large with a rate
four times as large, at equal epochs (NiN: 13 x on 32 GPUs at a batch of 256, 23 x at 1,024; 58.9 and 58.6 %).

Every rank is a device of SHARE of a core on a host of its own (cpu_quota.py), so that six ranks do not compete for two
cores. The engine, the sums and the links are real. The times are those of training without the evaluations.
"""

import os
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from statistics import mean, median
from typing import Any

from benchmarks.batch_scaling.intervals import interval
from benchmarks.easgd.run_rows import read_run
from benchmarks.headline.cpu_quota import missing
from benchmarks.headline.report import shaped_links, write
from benchmarks.launcher import lab_hosts, run_ranks
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec

RATE, SHARE = "200mbit", 0.25
BATCH, LEARNING_RATE, FACTOR = 48, 0.05, 4
RANKS = [1, 2, 4, 6]
EPOCHS, SEEDS = 6, [1, 2, 3]


def main() -> None:
    """Measure, print and write the report."""
    if reason := missing():
        sys.exit(reason)
    load, rows, specs = os.getloadavg()[0], list[dict[str, Any]](), dict[str, Any]()
    cases = [(1, BATCH), *((ranks, batch) for batch in (BATCH, FACTOR * BATCH) for ranks in RANKS[1:])]
    with shaped_links(RATE):
        for ranks, batch in cases:
            runs = [spec(ranks, batch, seed) for seed in SEEDS]
            specs[f"{ranks} ranks, batch {batch}"] = runs[0].model_dump(mode="json")
            rows.append(row_of(ranks, batch, train(runs), rows[0] if rows else None))
    write("speedup", RATE, load, share_of_a_core=SHARE, rows=rows, specs=specs)


def spec(ranks: int, batch: int, seed: int) -> RunSpec:
    """Return the spec of a run; the rate grows with the batch."""
    return RunSpec.model_validate(
        {
            "data": {"kind": "digits"},
            "model": {"kind": "import", "function": "benchmarks.easgd_net:net"},
            "batch": batch,
            "epochs": EPOCHS,
            "seed": seed,
            "optimizer": {"kind": "sgd", "momentum": 0.9},
            "schedule": {"kind": "polynomial", "rate": LEARNING_RATE * batch / BATCH, "power": 0.5, "warmup_epochs": 1},
            "collective": {"kind": "ring"},
            "resources": {"kind": "slurm", "nodes": ranks, "ranks_per_node": 1},
        }
    )


def train(runs: list[RunSpec]) -> list[dict[str, Any]]:
    """Train the runs one after the other on the same ranks; return what each reported."""
    hosts = lab_hosts(runs[0].resources.world)
    with tempfile.TemporaryDirectory() as home:
        folders = {f"seed {run.seed}": RunFolder(Path(home) / f"seed {run.seed}") for run in runs}
        for folder, run in zip(folders.values(), runs, strict=True):
            folder.prepare(run)
        task = {"folder": home, "runs": list(folders), "ranks_per_host": 1, "share": SHARE}
        run_ranks("benchmarks.headline.speedup_rank", hosts, 1, task)
        return [read_run(folder) for folder in folders.values()]


def row_of(ranks: int, batch: int, runs: list[dict[str, Any]], alone: dict[str, Any] | None) -> dict[str, Any]:
    """Return and print the row of a case; `alone`: the row of one rank."""
    steps_s = median(run["step_s"] * run["steps"] for run in runs)
    accuracies = [run["accuracies"][-1] for run in runs]
    row = {"ranks": ranks, "batch": batch, "train_s": steps_s, "accuracies": accuracies}
    row["accuracy"] = asdict(interval(accuracies))  # whether the accuracy is held: 95 % intervals that overlap
    row["communication_share"] = mean(run["communication_share"] for run in runs)
    row["speedup"] = (alone or row)["train_s"] / steps_s
    row["efficiency"] = row["speedup"] / ranks
    print(
        f"{ranks} ranks, batch {batch:4}: {steps_s:6.1f} s, {row['speedup']:.2f} x one rank ({row['efficiency']:.0%}), "
        f"communication {row['communication_share']:.0%}, accuracy {mean(accuracies):.2%}",
        flush=True,
    )
    return row


if __name__ == "__main__":
    main()
