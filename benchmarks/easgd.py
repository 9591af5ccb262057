"""Twelve ways for replicas to agree: time to a stated accuracy, and where it goes, on hosts with slow links.

`make bench NAME=easgd` writes benchmarks/results/easgd.json and docs/images/easgd.png; options try a part of it and
print only: `python -m benchmarks.easgd --method "Sync EASGD 3" --seed 1 --epochs 3`.

Four hosts of two ranks, as You, Buluc and Demmel (2017) compared their methods; every rate is tuned with a seed of its
own on links that are not shaped. The ranks share one machine's cores: what they compute takes as long as they are many.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import torch

from benchmarks.easgd_plot import plot
from benchmarks.ranks import on_ranks
from contract import series
from contract.event import Points, reader
from contract.folder import RunFolder
from contract.spec import RunSpec

RATE = "400mbit"
HOSTS, RANKS_PER_HOST = 4, 2
TARGET = 0.95
SEEDS, TUNING_SEED = [1, 2, 3], 0
RESULTS = Path(__file__).parent / "results" / "easgd.json"
BASE: dict[str, Any] = {
    "model": {"kind": "import", "function": "benchmarks.easgd_net:perceptron"},
    "data": {"kind": "digits"},
    "batch": 192,
    "collective": {"kind": "torus", "rows": HOSTS},
    "resources": {"kind": "slurm", "nodes": HOSTS, "ranks_per_node": RANKS_PER_HOST},
}
EPOCHS = 12

# method: its rule, momentum and collective, and whose rate it takes, as its arithmetic is the same
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
    "Original EASGD": [0.2, 0.5, 1.0],
    "Async EASGD": [0.2, 0.5, 1.0],
    "Async MEASGD": [0.02, 0.05, 0.1],
    "Sync EASGD 3": [0.2, 0.5, 1.0],
    "Async SGD": [0.02, 0.05, 0.1],
    "Async MSGD": [0.002, 0.005, 0.01],
    "Sync SGD": [0.2, 0.5, 1.0],
}
COUNTERPARTS = {
    "Async EASGD": "Async SGD",
    "Async MEASGD": "Async MSGD",
    "Hogwild EASGD": "Hogwild SGD",
    "Sync EASGD 3": "Sync SGD",
}
Wanted = tuple[str, float, int]  # method, rate, seed


def spec(wanted: Wanted, epochs: int) -> RunSpec:
    """One run."""
    method, rate, seed = wanted
    choice = METHODS[method]
    own = {"rule": choice["rule"], "collective": choice.get("collective", BASE["collective"])}
    optimizer = {"kind": "sgd", "momentum": choice.get("momentum", 0.0)}
    schedule = {"kind": "constant", "rate": rate}
    return RunSpec.model_validate(
        BASE | own | {"optimizer": optimizer, "schedule": schedule, "seed": seed, "epochs": epochs}
    )


def carried_out(wanted: list[Wanted], epochs: int) -> list[dict[str, Any]]:
    """Carry the runs out on the lab's hosts, one after the other; return what each came to."""
    with tempfile.TemporaryDirectory() as home:
        names = [
            f"{number:02} {method} rate {rate:g} seed {seed}" for number, (method, rate, seed) in enumerate(wanted)
        ]
        for name, one in zip(names, wanted, strict=True):
            RunFolder(Path(home) / name).prepare(spec(one, epochs))
        hosts = [f"gpu{number + 1}" for number in range(HOSTS)]
        task = {"folder": home, "runs": names, "ranks_per_host": RANKS_PER_HOST}
        on_ranks("benchmarks.easgd_rank", hosts, RANKS_PER_HOST, task)
        return [row_of(one, RunFolder(Path(home) / name)) for name, one in zip(names, wanted, strict=True)]


def row_of(wanted: Wanted, folder: RunFolder) -> dict[str, Any]:
    """What a run came to: accuracies and times by epoch, and a step's mean seconds, part by part."""
    method, rate, seed = wanted
    said = [reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
    points = [event.values for event in said if isinstance(event, Points)]
    epochs = [values for values in points if series.HELDOUT_ACCURACY in values]
    steps = [values for values in points if series.COMPUTE_S in values]
    parts = {part: mean(values[part] or 0.0 for values in steps) for part in series.PARTS}
    reached = [values[series.TRAINED_S] for values in epochs if (values[series.HELDOUT_ACCURACY] or 0.0) >= TARGET]
    return {
        "method": method,
        "rate": rate,
        "seed": seed,
        "accuracies": [values[series.HELDOUT_ACCURACY] for values in epochs],
        "trained_s": [values[series.TRAINED_S] for values in epochs],
        "to_target_s": reached[0] if reached else None,
        "step_s": sum(parts.values()),
        "parts_s": parts,
        "communication_share": (parts[series.COMMUNICATION_S] + parts[series.IDLE_S]) / sum(parts.values()),
        "idle_share": parts[series.IDLE_S] / sum(parts.values()),
    }


def tuned(epochs: int) -> tuple[dict[str, float], list[dict[str, Any]]]:
    """Every method's rate: that which reaches the target after the fewest epochs, else ends most accurate."""
    rows = carried_out([(method, rate, TUNING_SEED) for method, rates in GRID.items() for rate in rates], epochs)
    best = {
        method: min((row for row in rows if row["method"] == method), key=lambda row: rank_of(row["accuracies"]))
        for method in GRID
    }
    return {method: best[METHODS[method].get("as", method)]["rate"] for method in METHODS}, rows


def rank_of(accuracies: list[float]) -> tuple[int, float]:
    """How good a tuning run was: epochs to the target, then accuracy at the end, less is better."""
    needed = next((epoch for epoch, accuracy in enumerate(accuracies) if accuracy >= TARGET), len(accuracies))
    return needed, -accuracies[-1]


def summary(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every method over its seeds: medians of the times, means of the shares and of the accuracy at equal epochs."""
    of_method: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        of_method.setdefault(row["method"], []).append(row)
    out = []
    for method, mine in of_method.items():
        times = [row["to_target_s"] for row in mine if row["to_target_s"] is not None]
        ends = [row["accuracies"][-1] for row in mine]
        out.append(
            {
                "method": method,
                "rate": mine[0]["rate"],
                "seeds": len(mine),
                "reached": len(times),
                "to_target_s": median(times) if len(times) == len(mine) else None,
                "step_s": median(row["step_s"] for row in mine),
                "communication_share": mean(row["communication_share"] for row in mine),
                "idle_share": mean(row["idle_share"] for row in mine),
                "accuracy": mean(ends),
                "accuracy_stdev": stdev(ends) if len(ends) > 1 else 0.0,
            }
        )
    return out


def findings(points: list[dict[str, Any]]) -> dict[str, Any]:
    """The paper's comparisons: over Original EASGD, the order of the variants, and each method over its counterpart."""
    of = {point["method"]: point for point in points}
    times = {method: point["to_target_s"] for method, point in of.items()}

    def over(slow: str, fast: str, what: str) -> float | None:
        both = of[slow][what], of[fast][what]
        return None if None in both else both[0] / both[1]

    ladder = ["Sync EASGD 3", "Sync EASGD 2", "Sync EASGD 1", "Original EASGD"]
    known = [times[method] for method in ladder]
    return {
        "speed-up to the target of Sync EASGD 3 over Original EASGD (paper: 5.3)": over(
            "Original EASGD", "Sync EASGD 3", "to_target_s"
        ),
        "the same by step": over("Original EASGD", "Sync EASGD 3", "step_s"),
        "communication share (paper: 0.87 and 0.14)": [of[m]["communication_share"] for m in (ladder[-1], ladder[0])],
        "EASGD 3 <= 2 <= 1 < Original, to the target": None not in known and known == sorted(known),
        "EASGD 3 <= 2 <= 1 < Original, by step": (by_step := [of[m]["step_s"] for m in ladder]) == sorted(by_step),
        "speed-up to the target over the SGD counterpart": {
            mine: over(other, mine, "to_target_s") for mine, other in COUNTERPARTS.items()
        },
        "the same over the SGD counterpart, by step": {
            mine: over(other, mine, "step_s") for mine, other in COUNTERPARTS.items()
        },
    }


def packing(repeats: int) -> list[dict[str, Any]]:
    """Exchanges of 161 tensors, packed and per layer."""
    hosts = [f"gpu{number + 1}" for number in range(HOSTS)]
    specs: dict[str, Any] = {}
    for method in ("Original EASGD", "Async EASGD", "Sync EASGD 1", "Sync EASGD 2", "Sync SGD"):
        for packed in (True, False):
            run = spec((method, 0.1, 1), EPOCHS)
            chosen = run.model_copy(update={"rule": run.rule.model_copy(update={"packed": packed})})
            specs[f"{method}, {'packed' if packed else 'per layer'}"] = chosen.model_dump(mode="json")
    task = {"divisor": 8, "repeats": repeats, "specs": specs}
    rows: list[dict[str, Any]] = on_ranks("benchmarks.packing_rank", hosts, RANKS_PER_HOST, task)
    return rows


def shape(*rate: str) -> None:
    """Give the lab's links this rate, or none."""
    subprocess.run([sys.executable, "-m", "lab", "up", *rate], check=True, stdout=subprocess.DEVNULL)


def say(points: list[dict[str, Any]]) -> None:
    """Print a line for every method."""
    for point in sorted(points, key=lambda point: point["to_target_s"] or 1e9):
        took = (
            f"{point['to_target_s']:7.1f} s" if point["to_target_s"] else f"{point['reached']}/{point['seeds']} seeds"
        )
        shares = f"communication {point['communication_share']:6.1%} (idle {point['idle_share']:5.1%})"
        step = f"step {point['step_s'] * 1e3:6.1f} ms"
        print(
            f"{point['method']:18} rate {point['rate']:5g}  to {TARGET:.0%}: {took}  {step}  {shares}"
            f"  accuracy {point['accuracy']:.2%}",
            flush=True,
        )


def main() -> None:
    """Tune, run, compare, write the report and the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--seed", action="append", type=int)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--packing", action="store_true", help="only the exchanges of many tensors")
    options = parser.parse_args()
    is_whole = not (options.method or options.seed or options.packing or options.epochs != EPOCHS)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by TERM; nothing was written"))
    rates = {method: GRID[METHODS[method].get("as", method)][1] for method in METHODS}
    tuning: list[dict[str, Any]] = []
    try:
        if is_whole:
            shape()
            rates, tuning = tuned(options.epochs)
        shape("--rate", RATE)
        if not options.packing:
            wanted = [(m, rates[m], seed) for seed in options.seed or SEEDS for m in options.method or METHODS]
            rows = carried_out(wanted, options.epochs)
            say(points := summary(rows))
        packed = packing(repeats=10) if options.packing or is_whole else []
        for row in packed:
            print(f"{row['rule']:28} {row['tensors']} tensors  {row['seconds'] * 1e3:8.1f} ms")
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
        shape()
    if is_whole:
        found = findings(points)
        print(json.dumps(found, indent=1))
        told = {"machine": f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, links of {RATE}"}
        told |= {"python": platform.python_version(), "torch": torch.__version__}
        example = {
            method: spec((method, rates[method], SEEDS[0]), EPOCHS).model_dump(mode="json") for method in METHODS
        }
        report = {**told, "target": TARGET, "grid": GRID, "findings": found, "points": points, "packing": packed}
        RESULTS.write_text(json.dumps({**report, "rows": rows, "tuning": tuning, "specs": example}, indent=1) + "\n")
        plot(rows, points, target=TARGET)


if __name__ == "__main__":
    main()
