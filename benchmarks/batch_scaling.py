"""How large may the batch grow at equal epochs: SGD with linear scaling, LARS, LARS with batch control?

    python -m benchmarks.batch_scaling [--workers 2] [--kept FILE] [--quick | --longer 4]

Every method's rate is tuned on a grid with a seed of its own: linear scaling's at the smallest batch, as the rule has
it (Goyal et al., 2017); the others' at every batch, as You et al. (2017) did. Then three other seeds are run.
`--longer` takes the rates of the report and more epochs: what falls behind for want of steps comes back, what falls
behind because its rate is too large does not.
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

from benchmarks.small_runs import outcomes

One = tuple[str, int, float, int]  # method, batch, rate, seed
REPORT = Path(__file__).parent / "results" / "batch_scaling.json"
LONGER = REPORT.with_name("batch_scaling_longer.json")
PLOT = Path(__file__).parents[1] / "docs" / "images" / "batch-scaling.png"
BATCHES = [64, 128, 256, 512, 1024, 2048]  # 1,024 steps in all to 32
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
FALL = {"kind": "polynomial", "power": 2.0, "warmup_epochs": 2.0}
LONGER_BATCHES = {"sgd": [64, 128, 256, 512], "lars": [128, 256, 512, 1024]}
LONGER_SEEDS = SEEDS[:2]
GROWN_FROM_EPOCH = 3  # batch control trains with a quarter of the batch before


def run(method: str, batch: int, rate: float, seed: int) -> dict[str, Any]:
    """The spec of one run."""
    falling: dict[str, Any] = {**FALL, "rate": rate}
    made = {**BASE, "batch": batch, "seed": seed, "optimizer": LARS, "schedule": falling}
    match method:
        case "sgd":
            return {**made, "optimizer": SGD, "schedule": {**falling, "scaling": {"reference_batch": BATCHES[0]}}}
        case "lars":
            return made
        case "lars, batch control":
            # the rate is the full batch's; the quarter batch before takes half of it, as its root
            scaling = {"reference_batch": batch, "rule": "sqrt"}
            stages = [{"epoch": GROWN_FROM_EPOCH, "batch": batch}]
            return {**made, "batch": batch // 4, "batch_stages": stages, "schedule": {**falling, "scaling": scaling}}
        case _:
            raise ValueError(f"no method is called {method!r}; there are {', '.join(GRID)}")


def carried_out(wanted: list[One], workers: int, kept: Path, *, epochs: int = EPOCHS) -> list[dict[str, Any]]:
    """Return a row for each run; those that are `kept` from before are not run again."""
    lines = kept.read_text().splitlines() if kept.exists() else []
    known = {(row["method"], row["batch"], row["rate"], row["seed"]): row for row in map(json.loads, lines)}
    missing = [one for one in wanted if one not in known]
    said = outcomes([{**run(*one), "epochs": epochs} for one in missing], workers=workers)
    for one, told in zip(missing, said, strict=True):
        row: dict[str, Any] = dict(zip(("method", "batch", "rate", "seed"), one, strict=True))
        row["accuracy"] = told[-1]["heldout_accuracy"] if len(told) == epochs else None
        known[one] = row
        with kept.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print("{method:20} batch {batch:5}  rate {rate:6g}  seed {seed}  {accuracy}".format(**row), flush=True)
    return [known[one] for one in wanted]


def best(rows: Iterable[dict[str, Any]]) -> float:
    """The rate of the highest accuracy; a run that diverged has none."""
    return float(max(rows, key=lambda row: row["accuracy"] or 0.0)["rate"])


def tuned(batches: list[int], workers: int, kept: Path) -> tuple[dict[tuple[str, int], float], list[dict[str, Any]]]:
    """Return the rate of every method at every batch, and the runs that chose it."""
    wanted = [
        (method, batch, rate, TUNING_SEED)
        for method, rates in GRID.items()
        for batch, rate in product(batches[:1] if method == "sgd" else batches, rates)
    ]
    rows = carried_out(wanted, workers, kept)
    chosen = {}
    for method, batch in product(GRID, batches):
        at = batches[0] if method == "sgd" else batch
        chosen[method, batch] = best(row for row in rows if (row["method"], row["batch"]) == (method, at))
    return chosen, rows


def summary(rows: list[dict[str, Any]], asked: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    """Mean and spread over the seeds, for every method and batch."""
    out = []
    for method, batch in asked:
        found = [row["accuracy"] or 0.0 for row in rows if (row["method"], row["batch"]) == (method, batch)]
        spread = statistics.stdev(found) if len(found) > 1 else 0.0
        out.append({"method": method, "batch": batch, "mean": statistics.mean(found), "stdev": spread})
    return out


def holds_to(points: list[dict[str, Any]], method: str, *, baseline: float) -> int:
    """The largest batch up to which the method stays within one point of the baseline at every batch; 0 for none."""
    held = 0
    for point in (point for point in points if point["method"] == method):
        if point["mean"] < baseline - 0.01:
            break
        held = point["batch"]
    return held


def longer(times: int, workers: int, kept: Path) -> None:
    """Give SGD and LARS more epochs at the rates of the report; write how far each holds then."""
    rates = {(row["method"], row["batch"]): row["rate"] for row in json.loads(REPORT.read_text())["rows"]}
    asked = [(method, batch) for method, batches in LONGER_BATCHES.items() for batch in batches]
    wanted = [(method, batch, rates[method, batch], seed) for method, batch in asked for seed in LONGER_SEEDS]
    wanted.sort(key=lambda one: -one[1])  # the largest batch first: it is soonest over
    rows = carried_out(wanted, workers, kept, epochs=times * EPOCHS)
    points = summary(rows, asked)
    baseline = max(point["mean"] for point in points if point["batch"] == BATCHES[0])
    held = {method: holds_to(points, method, baseline=baseline) for method in LONGER_BATCHES}
    print(f"{times * EPOCHS} epochs: within one point of {baseline:.2%} up to {held}")
    report = {"epochs": times * EPOCHS, "baseline": baseline, "holds_to": held, "points": points, "rows": rows}
    LONGER.write_text(json.dumps(report, indent=1) + "\n")


def plot(points: list[dict[str, Any]], baseline: float) -> None:
    """Draw accuracy against batch."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.2, 4.2), layout="constrained")
    axes.axhline(100 * (baseline - 0.01), color="0.6", linewidth=0.8, linestyle=":")
    for method in GRID:
        mine = [point for point in points if point["method"] == method]
        means, spreads = [100 * p["mean"] for p in mine], [100 * p["stdev"] for p in mine]
        axes.errorbar([p["batch"] for p in mine], means, spreads, marker="o", capsize=2, label=method)
    axes.set_xscale("log", base=2)
    axes.set_xticks([p["batch"] for p in mine], [str(p["batch"]) for p in mine])
    axes.set_ylim(bottom=max(0.0, 100 * (baseline - 0.25)), top=100 * baseline + 1.5)
    axes.set_xlabel("global batch")
    axes.set_ylabel(f"held-out accuracy after {BASE['epochs']} epochs, %")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower left")
    figure.savefig(PLOT, dpi=160)


def main() -> None:
    """Tune, run, compare, write the report and the plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=Path, help="a file of runs that are done; one that was stopped goes on from it")
    parser.add_argument("--quick", action="store_true", help="two batches and one seed, and no report")
    parser.add_argument("--longer", type=int, metavar="TIMES", help="so many times the epochs, at the report's rates")
    options = parser.parse_args()
    if options.longer:
        longer(options.longer, options.workers, options.kept or Path(tempfile.mkdtemp()) / "runs.jsonl")
        return
    batches, seeds = (BATCHES[::5], SEEDS[:1]) if options.quick else (BATCHES, SEEDS)
    kept = options.kept or Path(tempfile.mkdtemp()) / "runs.jsonl"
    rates, tuning = tuned(batches, options.workers, kept)
    wanted = [(method, batch, rates[method, batch], seed) for method, batch in rates for seed in seeds]
    rows = carried_out(wanted, options.workers, kept)
    points = summary(rows, product(GRID, batches))
    baseline = max(point["mean"] for point in points if point["batch"] == batches[0])
    held = {method: holds_to(points, method, baseline=baseline) for method in GRID}
    for method, batch in held.items():
        print(f"{method:20} within one point of {baseline:.2%} up to a batch of {batch}")
    if options.quick:
        return
    told = {"machine": f"{os.cpu_count()} cores, {platform.system()}", "python": platform.python_version()}
    told |= {"torch": torch.__version__}
    example = {method: run(method, batches[-1], rates[method, batches[-1]], SEEDS[0]) for method in GRID}
    report = {**told, "grid": GRID, "baseline": baseline, "holds_to": held, "points": points, "rows": rows}
    REPORT.write_text(json.dumps({**report, "tuning": tuning, "specs": example}, indent=1) + "\n")
    plot(points, baseline)


if __name__ == "__main__":
    main()
