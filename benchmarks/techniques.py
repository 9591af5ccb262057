"""What does each technique do to held-out accuracy, beside the same run without it?

    python -m benchmarks.techniques [--workers 2] [--kept FILE]

One small problem for all: 4,096 glyphs of 26 classes, a small convolutional net, four epochs, three seeds. A batch of
32 has 512 steps, one of 256 has 64. Rates are round numbers near the best of `batch_scaling`'s, LAMB's tuned on a grid
with a seed of its own. Differences of less than the spread over the seeds say nothing.
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
from pathlib import Path
from typing import Any

import torch

from benchmarks.small_runs import outcomes

Spec = dict[str, Any]
REPORT = Path(__file__).parent / "results" / "techniques.json"
SEEDS = [1, 2, 3]
TUNING_SEED = 0
SMALL, LARGE = 32, 256
BASE: Spec = {
    "model": {"kind": "convnet", "width": 8},
    "data": {"kind": "glyphs", "classes": 26, "train_samples": 4096, "heldout_samples": 2000},
    "epochs": 4,
}
FALL: Spec = {"kind": "polynomial", "power": 2.0, "warmup_epochs": 1.0}
SGD: Spec = {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.0005}
LARS: Spec = {"kind": "lars", "momentum": 0.9, "weight_decay": 0.0005, "skip": "none"}
LAMB: Spec = {"kind": "lamb", "weight_decay": 0.01}
LAMB_RATES = [0.005, 0.01, 0.02, 0.04, 0.08]
BY_SGD: Spec = {**BASE, "batch": SMALL, "optimizer": SGD, "schedule": {**FALL, "rate": 0.6}}
LEVEL: Spec = {**BY_SGD, "schedule": {"kind": "constant", "rate": 0.6, "warmup_epochs": 1.0}}
SCALED: Spec = {**BY_SGD, "batch": LARGE, "schedule": {**FALL, "rate": 0.6 * LARGE / SMALL}}


def by_lars(schedule: Spec) -> Spec:
    return {**BASE, "batch": LARGE, "optimizer": LARS, "schedule": {**schedule, "rate": 64.0}}


TECHNIQUES: dict[str, dict[str, Spec]] = {
    "label smoothing": {f"{eps:g}": {**BY_SGD, "label_smoothing": eps} for eps in (0.0, 0.1)},
    "averages of the weights": {
        "none": LEVEL,
        **{f"{decay:g}": {**LEVEL, "ema_decay": decay} for decay in (0.9, 0.98, 0.999)},
        "none, a falling rate": BY_SGD,
    },
    "clipping, a scaled rate": {"none": SCALED, **{f"{c:g}": {**SCALED, "clip_norm": c} for c in (5.0, 1.0, 0.2)}},
    "warm-up of LARS": {
        "none": by_lars({**FALL, "warmup_epochs": 0.0}),
        "linear, 1 epoch": by_lars(FALL),
        "quadratic, 1 epoch": by_lars({**FALL, "warmup": "quadratic"}),
        "linear, 2 epochs": by_lars({**FALL, "warmup_epochs": 2.0}),
    },
    "decay of LARS": {
        "none": by_lars({"kind": "constant", "warmup_epochs": 1.0}),
        "polynomial, from the start": by_lars(FALL),
        "polynomial, from the warm-up": by_lars({**FALL, "decay_from": "warmup"}),
        "step": by_lars({"kind": "step", "warmup_epochs": 1.0, "milestones": [2.0, 3.0]}),
        "cosine": by_lars({"kind": "cosine", "warmup_epochs": 1.0}),
    },
    "statistics an evaluation takes": {
        kind: {**by_lars(FALL), "batch_norm": {"statistics": kind}} for kind in ("moving_average", "last_batch")
    },
    "images a pass": {f"{size}": {**BY_SGD, "micro_batch": size} for size in (2, 8, SMALL)},
}


def lamb(batch: int, rate: float) -> Spec:
    return {**BASE, "batch": batch, "optimizer": LAMB, "schedule": {**FALL, "power": 1.0, "rate": rate}}


def accuracies(specs: list[Spec], *, workers: int, kept: Path) -> list[float]:
    """The last held-out accuracy of each run, 0 of one that diverged; those that are `kept` are not run again."""
    lines = kept.read_text().splitlines() if kept.exists() else []
    known = dict(json.loads(line) for line in lines)
    names = [json.dumps(spec, sort_keys=True) for spec in specs]
    missing = {name: spec for name, spec in zip(names, specs, strict=True) if name not in known}
    said = outcomes(list(missing.values()), workers=workers)
    for name, epochs in zip(missing, said, strict=True):
        known[name] = epochs[-1]["heldout_accuracy"] if len(epochs) == BASE["epochs"] else 0.0
        with kept.open("a") as file:
            file.write(json.dumps([name, known[name]]) + "\n")
    return [known[name] for name in names]


def tuned(workers: int, kept: Path) -> tuple[dict[str, Spec], list[dict[str, Any]]]:
    """LAMB at either batch with its best rate, beside the others there, and the runs that chose it."""
    asked = [(batch, rate) for batch in (SMALL, LARGE) for rate in LAMB_RATES]
    found = accuracies([{**lamb(*one), "seed": TUNING_SEED} for one in asked], workers=workers, kept=kept)
    rows = [{"batch": b, "rate": r, "accuracy": a} for (b, r), a in zip(asked, found, strict=True)]
    chosen: dict[str, Spec] = {
        "SGD, small batch": BY_SGD,
        "LARS, large batch": by_lars(FALL),
        "SGD, large batch": SCALED,
    }
    for batch, name in ((SMALL, "LAMB, small batch"), (LARGE, "LAMB, large batch")):
        best = max((row for row in rows if row["batch"] == batch), key=lambda row: row["accuracy"])
        chosen[name] = lamb(batch, best["rate"])
    return chosen, rows


def main() -> None:
    """Run every variant of every technique, print the tables and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=Path, help="a file of runs that are done; one that was stopped goes on from it")
    options = parser.parse_args()
    workers, kept = options.workers, options.kept or Path(tempfile.mkdtemp()) / "runs.jsonl"
    optimizers, tuning = tuned(workers, kept)
    techniques = {**TECHNIQUES, "optimizer": optimizers}
    variants = [(technique, name) for technique, made in techniques.items() for name in made]
    found = accuracies(
        [{**techniques[technique][name], "seed": seed} for technique, name in variants for seed in SEEDS],
        workers=workers,
        kept=kept,
    )
    rows = []
    for number, (technique, name) in enumerate(variants):
        own = found[number * len(SEEDS) : (number + 1) * len(SEEDS)]
        mean, spread = statistics.mean(own), statistics.stdev(own)
        print(f"{technique:50} {name:30} {mean:7.2%} +- {spread:.2%}", flush=True)
        row = {"technique": technique, "variant": name, "mean": mean, "stdev": spread, "accuracies": own}
        rows.append({**row, "spec": techniques[technique][name]})
    machine = f"{torch.get_num_threads()} threads, {platform.system()}"
    report = {"machine": machine, "python": platform.python_version(), "torch": torch.__version__, "seeds": SEEDS}
    REPORT.write_text(json.dumps({**report, "rows": rows, "tuning of LAMB": tuning}, indent=1) + "\n")


if __name__ == "__main__":
    main()
