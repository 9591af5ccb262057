"""Twelve ways for replicas to agree: time to a stated accuracy, and where it goes, on hosts with slow links.

`make bench NAME=easgd` writes benchmarks/results/easgd.json and docs/images/easgd.png; options try a part of it and
print only: `python -m benchmarks.easgd --method "Sync EASGD 3" --seed 1 --epochs 3`.

Four hosts of two ranks, as You, Buluc and Demmel (2017) compared their methods. Every rate is tuned before, by `--tune`
(benchmarks/results/easgd_tuning.json), with a seed of its own on links that are not shaped: it needs no quiet machine.
The ranks share one machine's cores: what they compute takes as long as they are many.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import torch

from benchmarks.easgd.plot import plot
from benchmarks.easgd.summary import TARGET, findings, say, summary, told
from benchmarks.launcher import on_ranks
from contract import metric_names as series
from contract.folder.events import Points, reader
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
    "Original EASGD": [0.05, 0.1],
    "Async EASGD": [0.05, 0.1],
    "Async MEASGD": [0.01, 0.02],
    "Sync EASGD 3": [0.05, 0.1],
    "Async SGD": [0.005, 0.01],
    "Async MSGD": [0.0005, 0.001],
    "Sync SGD": [0.05, 0.1],
}
Wanted = tuple[str, float, int]  # method, rate, seed
Values = dict[str, float | None]  # of one point, by series


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
        task = {"folder": home, "runs": names, "ranks_per_host": RANKS_PER_HOST}
        on_ranks("benchmarks.easgd.rank", hosts(), RANKS_PER_HOST, task)
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
        "crossed_s": crossed(epochs),
        "step_s": sum(parts.values()),
        "parts_s": parts,
        "communication_share": (parts[series.COMMUNICATION_S] + parts[series.IDLE_S]) / sum(parts.values()),
        "idle_share": parts[series.IDLE_S] / sum(parts.values()),
    }


def crossed(epochs: list[Values]) -> float | None:
    """When the accuracy would have crossed the target, had it gone straight from one evaluation to the next."""
    before_s, before = 0.0, 0.0
    for values in epochs:
        at_s, accuracy = values[series.TRAINED_S] or 0.0, values[series.HELDOUT_ACCURACY] or 0.0
        if accuracy >= TARGET:
            return before_s + (at_s - before_s) * (TARGET - before) / (accuracy - before)
        before_s, before = at_s, accuracy
    return None


def tune(methods: Sequence[str]) -> None:
    """Try every rate of the grid, and write each method's best into the report of these tries."""
    shape()
    rows = carried_out([(method, rate, TUNING_SEED) for method in methods for rate in GRID[method]], EPOCHS)
    known = json.loads(TUNING.read_text())["rows"] if TUNING.exists() else []
    rows = [row for row in known if row["method"] not in methods] + rows
    best = {
        row["method"]: row["rate"] for row in sorted(rows, key=lambda row: rank_of(row["accuracies"]), reverse=True)
    }
    TUNING.write_text(json.dumps({"rates": best, "rows": rows}, indent=1) + "\n")
    for row in rows:
        print(f"{row['method']:18} {row['rate']:6g}  {' '.join(f'{a:.3f}' for a in row['accuracies'])}", flush=True)


def tuned() -> dict[str, float]:
    """Every method's rate, its own or that of the method whose arithmetic it shares."""
    best = json.loads(TUNING.read_text())["rates"]
    return {method: best[choice.get("as", method)] for method, choice in METHODS.items()}


def rank_of(accuracies: list[float]) -> tuple[int, float]:
    """How good a tuning run was: epochs to the target, then accuracy at the end, less is better."""
    needed = next((epoch for epoch, accuracy in enumerate(accuracies) if accuracy >= TARGET), len(accuracies))
    return needed, -accuracies[-1]


def packing(repeats: int) -> list[dict[str, Any]]:
    """Exchanges of 153 tensors, packed and per layer."""
    specs: dict[str, Any] = {}
    for method in ("Original EASGD", "Async EASGD", "Sync EASGD 1", "Sync EASGD 2", "Sync SGD"):
        for packed in (True, False):
            run = spec((method, 0.1, 1), EPOCHS)
            chosen = run.model_copy(update={"rule": run.rule.model_copy(update={"packed": packed})})
            specs[f"{method}, {'packed' if packed else 'per layer'}"] = chosen.model_dump(mode="json")
    task = {"divisor": 8, "repeats": repeats, "specs": specs}
    rows: list[dict[str, Any]] = on_ranks("benchmarks.easgd.packing_rank", hosts(), RANKS_PER_HOST, task)
    return rows


def pack() -> None:
    """Packed against per layer on faster links, where what a message costs beside its bytes weighs more."""
    found = {}
    for rate in FASTER:
        shape(*(["--rate", rate] if rate else []))
        found[rate or "unshaped"] = packing(repeats=10)
        print(rate or "unshaped")
        told(found[rate or "unshaped"])
    PACKING.write_text(json.dumps(machine() | {"links": ", ".join(found), "packing": found}, indent=1) + "\n")


def hosts() -> list[str]:
    """The lab's hosts."""
    return [f"gpu{number + 1}" for number in range(HOSTS)]


def shape(*rate: str) -> None:
    """Give the lab's links this rate, or none."""
    subprocess.run([sys.executable, "-m", "lab", "up", *rate], check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Run, compare, write the report and the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--method", action="append", choices=METHODS)
    parser.add_argument("--seed", action="append", type=int)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--tune", action="store_true", help="only look for rates, of the methods given or of all")
    parser.add_argument("--packing", action="store_true", help="only the exchanges of many tensors, on faster links")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by TERM; what was whole by then is in the report"))
    try:
        if options.packing:
            pack()
        elif options.tune:
            tune(options.method or list(GRID))
        elif options.method or options.seed or options.epochs != EPOCHS:
            shape("--rate", RATE)
            rates = tuned()
            for seed in options.seed or SEEDS:
                wanted = [(method, rates[method], seed) for method in options.method or METHODS]
                say(summary(carried_out(wanted, options.epochs)))
        else:
            whole()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
        shape()


def whole() -> None:
    """Compare at the tuned rates, and write the report anew after every seed."""
    shape("--rate", RATE)
    rates, rows = tuned(), list[dict[str, Any]]()
    packed = packing(repeats=10)
    told(packed)
    for seed in SEEDS:
        rows += carried_out([(method, rates[method], seed) for method in METHODS], EPOCHS)
        points = summary(rows)
        say(points)
        found = findings(points)
        print(json.dumps(found, indent=1), flush=True)
        example = {method: spec((method, rates[method], seed), EPOCHS).model_dump(mode="json") for method in METHODS}
        compared = {"target": TARGET, "findings": found, "points": points, "packing": packed}
        report = machine() | compared | {"rows": rows, "specs": example}
        RESULTS.write_text(json.dumps(report, indent=1) + "\n")
        plot(rows, points, target=TARGET)


def machine() -> dict[str, str]:
    """Say what this ran on."""
    place = f"{os.cpu_count()} cores, {platform.system()} {platform.release()}"
    return {"machine": place, "links": RATE, "python": platform.python_version(), "torch": torch.__version__}


if __name__ == "__main__":
    main()
