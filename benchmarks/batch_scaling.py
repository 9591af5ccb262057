"""The accuracy as a function of the batch size at equal epochs: SGD with linear scaling, LARS, LARS with batch control.

    python -m benchmarks.batch_scaling [--workers 2] [--kept FILE] [--quick | --longer 4]

The rate of every method is tuned on a grid with a separate seed: the rate of linear scaling at the smallest batch, as
the rule requires (Goyal et al., 2017), the other rates at every batch, as in You et al. (2017). Then three other seeds
run. `--longer` uses the rates of the report with more epochs: accuracy lost by too few steps recovers, accuracy lost by
too high a rate does not.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import torch

from benchmarks.small_runs import execute_runs

Case = tuple[str, int, float, int]  # method, batch, rate, seed
REPORT = Path(__file__).parent / "results" / "batch_scaling.json"
LONGER = REPORT.with_name("batch_scaling_longer.json")
PLOT = Path(__file__).parents[1] / "docs" / "images" / "batch-scaling.png"
BATCHES = [64, 128, 256, 512, 1024, 2048]  # 1,024 to 32 steps in total
SEEDS = [1, 2, 3]
TUNING_SEED = 0
GRID = {
    "sgd": [0.1, 0.3, 0.6, 1.2, 2.4],
    "lars": [16.0, 32.0, 64.0, 128.0, 256.0],
    "lars, batch control": [16.0, 32.0, 64.0, 128.0, 256.0],
}
EPOCHS = 8
BASE: dict[str, Any] = {
    "model": {"kind": "convnet", "width": 8},
    "data": {"kind": "glyphs", "classes": 26, "train_samples": 8_192, "heldout_samples": 4_000},
    "epochs": EPOCHS,
}
SGD = {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.0005}
LARS = {"kind": "lars", "momentum": 0.9, "weight_decay": 0.0005, "trust_coefficient": 0.001, "skip": "none"}
DECAY = {"kind": "polynomial", "power": 2.0, "warmup_epochs": 2.0}
LONGER_BATCHES = {"sgd": [64, 128, 256, 512], "lars": [128, 256, 512, 1024]}
LONGER_SEEDS = SEEDS[:2]
GROWN_FROM_EPOCH = 3  # batch control uses a quarter of the batch before this epoch


def run(method: str, batch: int, rate: float, seed: int) -> dict[str, Any]:
    """Return the spec of one run."""
    schedule: dict[str, Any] = {**DECAY, "rate": rate}
    base = {**BASE, "batch": batch, "seed": seed, "optimizer": LARS, "schedule": schedule}
    match method:
        case "sgd":
            return {**base, "optimizer": SGD, "schedule": {**schedule, "scaling": {"reference_batch": BATCHES[0]}}}
        case "lars":
            return base
        case "lars, batch control":
            # The rate is for the full batch; the quarter batch before uses half of it by square-root scaling.
            scaling = {"reference_batch": batch, "rule": "sqrt"}
            stages = [{"epoch": GROWN_FROM_EPOCH, "batch": batch}]
            return {**base, "batch": batch // 4, "batch_stages": stages, "schedule": {**schedule, "scaling": scaling}}
        case _:
            raise ValueError(f"unknown method {method!r}; the methods are {', '.join(GRID)}")


def execute_cases(wanted: list[Case], workers: int, finished: Path, *, epochs: int = EPOCHS) -> list[dict[str, Any]]:
    """Return a row for each run; runs in the file `finished` are not executed again."""
    lines = finished.read_text().splitlines() if finished.exists() else []
    known = {(row["method"], row["batch"], row["rate"], row["seed"]): row for row in map(json.loads, lines)}
    missing = [case for case in wanted if case not in known]
    results = execute_runs([{**run(*case), "epochs": epochs} for case in missing], workers=workers)
    for case, evaluations in zip(missing, results, strict=True):
        row: dict[str, Any] = dict(zip(("method", "batch", "rate", "seed"), case, strict=True))
        row["accuracy"] = evaluations[-1]["heldout_accuracy"] if len(evaluations) == epochs else None
        known[case] = row
        with finished.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print("{method:20} batch {batch:5}  rate {rate:6g}  seed {seed}  {accuracy}".format(**row), flush=True)
    return [known[case] for case in wanted]


def best_rate(rows: Iterable[dict[str, Any]]) -> float:
    """Return the rate with the highest accuracy; a diverged run has accuracy 0."""
    return float(max(rows, key=lambda row: row["accuracy"] or 0.0)["rate"])


def tune(batches: list[int], workers: int, finished: Path) -> tuple[dict[tuple[str, int], float], list[dict[str, Any]]]:
    """Return the best rate of every method at every batch, and the rows of the tuning runs."""
    wanted = [
        (method, batch, rate, TUNING_SEED)
        for method, rates in GRID.items()
        for batch, rate in product(batches[:1] if method == "sgd" else batches, rates)
    ]
    rows = execute_cases(wanted, workers, finished)
    chosen = {}
    for method, batch in product(GRID, batches):
        at = batches[0] if method == "sgd" else batch
        chosen[method, batch] = best_rate(row for row in rows if (row["method"], row["batch"]) == (method, at))
    return chosen, rows


def summarize(rows: list[dict[str, Any]], cases: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """Return mean and standard deviation over the seeds for every method and batch."""
    out = []
    for method, batch in cases:
        found = [row["accuracy"] or 0.0 for row in rows if (row["method"], row["batch"]) == (method, batch)]
        spread = statistics.stdev(found) if len(found) > 1 else 0.0
        out.append({"method": method, "batch": batch, "mean": statistics.mean(found), "stdev": spread})
    return out


def largest_good_batch(points: list[dict[str, Any]], method: str, *, baseline: float) -> int:
    """Return the largest batch up to which all accuracies are within 0.01 of the baseline; 0 if there is none."""
    largest = 0
    for point in (point for point in points if point["method"] == method):
        if point["mean"] < baseline - 0.01:
            break
        largest = point["batch"]
    return largest


def run_longer(times: int, workers: int, finished: Path) -> None:
    """Run SGD and LARS with more epochs at the rates of the report; write the largest good batch of each."""
    rates = {(row["method"], row["batch"]): row["rate"] for row in json.loads(REPORT.read_text())["rows"]}
    cases = [(method, batch) for method, batches in LONGER_BATCHES.items() for batch in batches]
    wanted = [(method, batch, rates[method, batch], seed) for method, batch in cases for seed in LONGER_SEEDS]
    wanted.sort(key=lambda case: -case[1])  # the largest batch first, because it ends soonest
    rows = execute_cases(wanted, workers, finished, epochs=times * EPOCHS)
    points = summarize(rows, cases)
    baseline = max(point["mean"] for point in points if point["batch"] == BATCHES[0])
    held = {method: largest_good_batch(points, method, baseline=baseline) for method in LONGER_BATCHES}
    print(f"{times * EPOCHS} epochs: within one point of {baseline:.2%} up to {held}")
    report = {"epochs": times * EPOCHS, "baseline": baseline, "holds_to": held, "points": points, "rows": rows}
    LONGER.write_text(json.dumps(report, indent=1) + "\n")


def plot(points: list[dict[str, Any]], baseline: float) -> None:
    """Plot accuracy against batch size."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    axes.axhline(100 * (baseline - 0.01), color="0.6", linewidth=0.8, linestyle=":")
    for method in GRID:
        own = [point for point in points if point["method"] == method]
        means, spreads = [100 * p["mean"] for p in own], [100 * p["stdev"] for p in own]
        axes.errorbar([p["batch"] for p in own], means, spreads, marker="o", capsize=2, label=method)
    axes.set_xscale("log", base=2)
    axes.set_xticks([p["batch"] for p in own], [str(p["batch"]) for p in own])
    axes.set_ylim(bottom=max(0.0, 100 * (baseline - 0.25)), top=100 * baseline + 1.5)
    axes.set_xlabel("global batch")
    axes.set_ylabel(f"held-out accuracy after {BASE['epochs']} epochs, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower left")
    figure.savefig(PLOT, dpi=160)


def main() -> None:
    """Tune, run and compare the methods; write the report and the plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=Path, dest="finished", help="file of finished runs, which are not repeated")
    parser.add_argument("--quick", action="store_true", help="two batches and one seed, without a report")
    parser.add_argument("--longer", type=int, metavar="TIMES", help="multiply the epochs, at the rates of the report")
    options = parser.parse_args()
    finished = options.finished or Path(tempfile.mkdtemp()) / "runs.jsonl"
    if options.longer:
        run_longer(options.longer, options.workers, finished)
        return
    batches, seeds = (BATCHES[::5], SEEDS[:1]) if options.quick else (BATCHES, SEEDS)
    rates, tuning = tune(batches, options.workers, finished)
    wanted = [(method, batch, rates[method, batch], seed) for method, batch in rates for seed in seeds]
    rows = execute_cases(wanted, options.workers, finished)
    points = summarize(rows, product(GRID, batches))
    baseline = max(point["mean"] for point in points if point["batch"] == batches[0])
    held = {method: largest_good_batch(points, method, baseline=baseline) for method in GRID}
    for method, batch in held.items():
        print(f"{method:20} within one point of {baseline:.2%} up to a batch of {batch}")
    if options.quick:
        return
    report = {"machine": f"{os.cpu_count()} cores, {platform.system()}", "python": platform.python_version()}
    report |= {"torch": torch.__version__}
    specs = {method: run(method, batches[-1], rates[method, batches[-1]], SEEDS[0]) for method in GRID}
    results = {"grid": GRID, "baseline": baseline, "holds_to": held, "points": points, "rows": rows}
    REPORT.write_text(json.dumps({**report, **results, "tuning": tuning, "specs": specs}, indent=1) + "\n")
    plot(points, baseline)


if __name__ == "__main__":
    main()
