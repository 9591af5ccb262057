"""Twelve update rules: the time to a given accuracy and its parts, on hosts with slow links.

`make bench NAME=easgd` writes benchmarks/results/easgd.json and docs/images/easgd.png; options measure a part and only
print: `python -m benchmarks.easgd --method "Sync EASGD 3" --seed 1 --epochs 3`.

The benchmark uses four hosts with two ranks each, for the methods of You, Buluc and Demmel (2017). `--tune` tunes every
rate beforehand (benchmarks/results/easgd_tuning.json), with a separate seed and unlimited links; other load does not
affect its result. All ranks share the cores of one machine, so computation slows down with the number of ranks.
"""

import argparse
import json
import os
import platform
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.easgd.plot import plot
from benchmarks.easgd.run_rows import read_run
from benchmarks.easgd.summary import TARGET, compare_methods, print_packing, print_points, summarize
from benchmarks.launcher import lab_hosts, run_ranks, shape_links
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec

RATE = "160mbit"
HOSTS, RANKS_PER_HOST = 4, 2
SEEDS, TUNING_SEED = [1, 2, 3], 0
RESULTS = Path(__file__).parents[1] / "results" / "easgd.json"
FASTER = ["1gbit", ""]
PACKING = RESULTS.with_name("easgd_packing.json")
TUNING = RESULTS.with_name("easgd_tuning.json")
BASE: dict[str, Any] = {
    "data": {"kind": "digits"},
    "model": {"kind": "import", "function": "benchmarks.easgd_net:net"},
    "batch": 192,
    "collective": {"kind": "torus", "rows": HOSTS},
    "resources": {"kind": "slurm", "nodes": HOSTS, "ranks_per_node": RANKS_PER_HOST},
}
EPOCHS = 6

# method -> rule, momentum, collective, and in `as` the method with equal arithmetic whose rate it uses
METHODS: dict[str, dict[str, Any]] = {
    "Original EASGD": {"rule": {"kind": "easgd", "variant": "original"}},
    "Async EASGD": {"rule": {"kind": "easgd", "variant": "async"}},
    "Async MEASGD": {"rule": {"kind": "easgd", "variant": "async"}, "momentum": 0.9},
    "Hogwild EASGD": {"rule": {"kind": "easgd", "variant": "hogwild"}, "as": "Async EASGD"},
    "Sync EASGD 1": {"rule": {"kind": "easgd", "variant": "sync1"}, "as": "Sync EASGD 3"},
    "Sync EASGD 2": {"rule": {"kind": "easgd", "variant": "sync2"}, "as": "Sync EASGD 3"},
    "Sync EASGD 3": {"rule": {"kind": "easgd", "variant": "sync3"}},
    "Async SGD": {"rule": {"kind": "async_sgd"}},
    "Async MSGD": {"rule": {"kind": "async_sgd"}, "momentum": 0.9},
    "Hogwild SGD": {"rule": {"kind": "async_sgd", "variant": "hogwild"}, "as": "Async SGD"},
    "Sync SGD": {"rule": {"kind": "sync"}},
    "Parameter server": {"rule": {"kind": "sync"}, "collective": {"kind": "server"}, "as": "Sync SGD"},
}
GRID = {
    "Original EASGD": [0.05, 0.1],
    "Async EASGD": [0.05, 0.1],
    "Async MEASGD": [0.01, 0.02],
    "Sync EASGD 3": [0.05, 0.1],
    "Async SGD": [0.005, 0.01],
    "Async MSGD": [0.0005, 0.001],
    "Sync SGD": [0.05, 0.1],
}
Case = tuple[str, float, int]  # method, rate, seed


def spec(case: Case, epochs: int) -> RunSpec:
    """Return the spec of one run."""
    method, rate, seed = case
    choice = METHODS[method]
    own = {"rule": choice["rule"], "collective": choice.get("collective", BASE["collective"])}
    optimizer = {"kind": "sgd", "momentum": choice.get("momentum", 0.0)}
    schedule = {"kind": "constant", "rate": rate}
    return RunSpec.model_validate(
        BASE | own | {"optimizer": optimizer, "schedule": schedule, "seed": seed, "epochs": epochs}
    )


def execute_cases(wanted: list[Case], epochs: int) -> list[dict[str, Any]]:
    """Execute the runs in order on the lab's hosts and return a row for each."""
    with tempfile.TemporaryDirectory() as home:
        names = [
            f"{number:02} {method} rate {rate:g} seed {seed}" for number, (method, rate, seed) in enumerate(wanted)
        ]
        for name, case in zip(names, wanted, strict=True):
            RunFolder(Path(home) / name).prepare(spec(case, epochs))
        task = {"folder": home, "runs": names, "ranks_per_host": RANKS_PER_HOST}
        run_ranks("benchmarks.easgd.rank", hosts(), RANKS_PER_HOST, task)
        return [row_of(case, RunFolder(Path(home) / name)) for name, case in zip(names, wanted, strict=True)]


def row_of(case: Case, folder: RunFolder) -> dict[str, Any]:
    """Return the case with accuracies and times by epoch, and the mean seconds of a step with its parts."""
    method, rate, seed = case
    return {"method": method, "rate": rate, "seed": seed, **read_run(folder, target=TARGET)}


def tune(methods: Sequence[str]) -> None:
    """Run every rate of the grid, and write the best rate of each method into the tuning report."""
    shape_links()
    rows = execute_cases([(method, rate, TUNING_SEED) for method in methods for rate in GRID[method]], EPOCHS)
    known = json.loads(TUNING.read_text())["rows"] if TUNING.exists() else []
    rows = [row for row in known if row["method"] not in methods] + rows
    best = {
        row["method"]: row["rate"] for row in sorted(rows, key=lambda row: tuning_key(row["accuracies"]), reverse=True)
    }
    TUNING.write_text(json.dumps({"rates": best, "rows": rows}, indent=1) + "\n")
    for row in rows:
        print(f"{row['method']:18} {row['rate']:6g}  {' '.join(f'{a:.3f}' for a in row['accuracies'])}", flush=True)


def read_rates() -> dict[str, float]:
    """Return the tuned rate of every method, or that of the method with equal arithmetic."""
    best = json.loads(TUNING.read_text())["rates"]
    return {method: best[choice.get("as", method)] for method, choice in METHODS.items()}


def tuning_key(accuracies: list[float]) -> tuple[int, float]:
    """Return the sort key of a tuning run: epochs to the target, then the negative final accuracy."""
    needed = next((epoch for epoch, accuracy in enumerate(accuracies) if accuracy >= TARGET), len(accuracies))
    return needed, -accuracies[-1]


def measure_packing(repeats: int) -> list[dict[str, Any]]:
    """Time exchanges of 153 tensors, packed and per layer."""
    specs: dict[str, Any] = {}
    for method in ("Original EASGD", "Async EASGD", "Sync EASGD 1", "Sync EASGD 2", "Sync SGD"):
        for packed in (True, False):
            run = spec((method, 0.1, 1), EPOCHS)
            variant = run.model_copy(update={"rule": run.rule.model_copy(update={"packed": packed})})
            specs[f"{method}, {'packed' if packed else 'per layer'}"] = variant.model_dump(mode="json")
    task = {"divisor": 8, "repeats": repeats, "specs": specs}
    rows: list[dict[str, Any]] = run_ranks("benchmarks.easgd.packing_rank", hosts(), RANKS_PER_HOST, task)
    return rows


def write_packing() -> None:
    """Compare packed and per-layer exchanges on faster links, where the cost per message matters more."""
    found = {}
    for rate in FASTER:
        shape_links(*(["--rate", rate] if rate else []))
        found[rate or "unshaped"] = measure_packing(repeats=10)
        print(rate or "unshaped")
        print_packing(found[rate or "unshaped"])
    PACKING.write_text(json.dumps(machine() | {"links": ", ".join(found), "packing": found}, indent=1) + "\n")


def hosts() -> list[str]:
    """Return the names of the lab's hosts."""
    return lab_hosts(HOSTS)


def main() -> None:
    """Run and compare the methods; write the report and the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--seed", action="append", type=int)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--tune", action="store_true", help="only tune the rates of the given methods or of all")
    parser.add_argument("--packing", action="store_true", help="only time exchanges of many tensors on faster links")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM; the report contains the finished seeds"))
    try:
        if options.packing:
            write_packing()
        elif options.tune:
            tune(options.method or list(GRID))
        elif options.method or options.seed or options.epochs != EPOCHS:
            shape_links("--rate", RATE)
            rates = read_rates()
            for seed in options.seed or SEEDS:
                wanted = [(method, rates[method], seed) for method in options.method or METHODS]
                print_points(summarize(execute_cases(wanted, options.epochs)))
        else:
            run_all()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second SIGTERM must not interrupt the cleanup
        shape_links()


def run_all() -> None:
    """Compare all methods at their tuned rates, and write the report after every seed."""
    shape_links("--rate", RATE)
    rates, rows = read_rates(), list[dict[str, Any]]()
    packed = measure_packing(repeats=10)
    print_packing(packed)
    for seed in SEEDS:
        rows += execute_cases([(method, rates[method], seed) for method in METHODS], EPOCHS)
        points = summarize(rows)
        print_points(points)
        found = compare_methods(points)
        print(json.dumps(found, indent=1), flush=True)
        specs = {method: spec((method, rates[method], seed), EPOCHS).model_dump(mode="json") for method in METHODS}
        compared = {"target": TARGET, "findings": found, "points": points, "packing": packed}
        report = machine() | compared | {"rows": rows, "specs": specs}
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")
        plot(rows, points, target=TARGET)


def machine() -> dict[str, str]:
    """Return the machine and the versions for the report."""
    description = f"{os.cpu_count()} cores, {platform.system()} {platform.release()}"
    return {"machine": description, "links": RATE, "python": platform.python_version(), "torch": torch.__version__}


if __name__ == "__main__":
    main()
