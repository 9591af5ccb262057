"""The time of a step with K-FAC compared with SGD's on shaped links: factors every 10, inverses every 100 steps.

`make bench NAME=kfac.links` writes benchmarks/results/kfac_links.json. Four ranks train with the whole engine, each a
device of SHARE of a core on a host of its own (benchmarks/headline/cpu_quota.py), so that they do not compete for two
cores. One period of 100 steps is a run; all cases run in turn, REPEATS times, and the ratios are of the medians: the
first run of all starts on cold links and memory.
"""

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean, mean, median
from typing import Any

from benchmarks.easgd.run_rows import read_run
from benchmarks.headline.cpu_quota import missing
from benchmarks.headline.report import shaped_links, write
from benchmarks.kfac.problems import MOMENTUM, RESIDUAL
from benchmarks.launcher import lab_hosts, run_ranks
from contract.folder.run_folder import RunFolder
from contract.metric_names import COMMUNICATION_S, IDLE_S
from contract.spec.run import RunSpec

RATE, SHARE, HOSTS, BATCH, STEPS, REPEATS = "200mbit", 0.4, 4, 256, 100, 3
EPOCH_STEPS = 50
NETS: dict[str, dict[str, Any]] = {
    "convnet, 8 channels": {"kind": "convnet", "width": 8},
    "LeNet": {"kind": "lenet"},
    "residual net": RESIDUAL,
}
PERIODS = {"kind": "kfac", "factor_every": 10, "inverse_every": 100, "damping": 0.03}
KFACS: dict[str, dict[str, Any] | None] = {
    "sgd": None,
    "comm_opt": {**PERIODS, "variant": "comm_opt"},
    "comm_opt, factors in 16 bits": {**PERIODS, "variant": "comm_opt", "factor_dtype": "float16"},
    "comm_opt, by inverses": {**PERIODS, "variant": "comm_opt", "method": "inverse"},
}


def main() -> None:
    """Measure, print and write the report."""
    if reason := missing():
        sys.exit(reason)
    load, rows = os.getloadavg()[0], list[dict[str, Any]]()
    with shaped_links(RATE):
        for net in NETS:
            rows += rows_of(net, measure(net))
            write("kfac_links", RATE, load, share_of_a_core=SHARE, hosts=HOSTS, batch=BATCH, steps=STEPS, rows=rows)


def spec_of(net: str, preconditioner: Mapping[str, Any] | None) -> RunSpec:
    """Return the spec of a run of one period."""
    data = {"kind": "glyphs", "classes": 26, "train_samples": BATCH * EPOCH_STEPS, "heldout_samples": 64}
    return RunSpec.model_validate(
        {
            "model": NETS[net],
            "data": data,
            "batch": BATCH,
            "epochs": STEPS // EPOCH_STEPS,
            "optimizer": MOMENTUM,
            "preconditioner": preconditioner,
            "schedule": {"kind": "constant", "rate": 0.01},
            "collective": {"kind": "ring"},
            "resources": {"kind": "slurm", "nodes": HOSTS, "ranks_per_node": 1},
        }
    )


def measure(net: str) -> dict[str, list[dict[str, Any]]]:
    """Return what the runs of each case reported."""
    cases = [(name, repeat) for repeat in range(REPEATS) for name in KFACS]
    with tempfile.TemporaryDirectory() as home:
        folders = {case: RunFolder(Path(home) / str(number)) for number, case in enumerate(cases)}
        for (name, _), folder in folders.items():
            folder.prepare(spec_of(net, KFACS[name]))
        runs = [folder.path.name for folder in folders.values()]
        task = {"folder": home, "runs": runs, "ranks_per_host": 1, "share": SHARE}
        run_ranks("benchmarks.headline.speedup_rank", lab_hosts(HOSTS), 1, task)
        return {name: [read_run(folders[name, repeat]) for repeat in range(REPEATS)] for name in KFACS}


def rows_of(net: str, found: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return and print the rows of a net: the seconds of a step, its parts, and the ratio to SGD's."""
    rows = []
    for name, runs in found.items():
        seconds = [run["step_s"] for run in runs]
        parts = {part: mean(run["parts_s"][part] for run in runs) for part in runs[0]["parts_s"]}
        sgd_s = median(run["step_s"] for run in found["sgd"])
        by_sgd, added = median(seconds) / sgd_s, (_exchange_s(runs) - _exchange_s(found["sgd"])) / sgd_s
        row = {"net": net, "case": name, "step_s": seconds, "parts_s": parts, "by_sgd": by_sgd}
        rows.append(row | {"added_by_exchange": added})
        shown = ", ".join(f"{part} {1e3 * spent:.1f}" for part, spent in parts.items())
        print(
            f"{net}, {name}: {1e3 * median(seconds):.1f} ms, {by_sgd:.3f} x SGD, its exchange adds {added:+.1%}; "
            f"ms: {shown}",
            flush=True,
        )
    return rows


def _exchange_s(runs: list[dict[str, Any]]) -> float:
    """Return the mean seconds of a step in which a rank sends or waits for others."""
    return fmean(run["parts_s"][COMMUNICATION_S] + run["parts_s"][IDLE_S] for run in runs)


if __name__ == "__main__":
    main()
