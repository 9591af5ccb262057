"""What does each technique do to held-out accuracy, beside the same run without it? `make bench NAME=techniques`

One small problem for all: 4,096 glyphs of 26 classes, a small convolutional net, six epochs, three seeds. A small batch
has 768 steps, a large one 96. Rates are round numbers near the best of `batch_scaling`'s, LAMB's tuned on a grid with
a seed of its own. Differences of less than the spread over the seeds say nothing.
"""

import argparse
import json
import os
import platform
import statistics
from pathlib import Path
from typing import Any

import torch

from benchmarks.solo import outcomes

Spec = dict[str, Any]
REPORT = Path(__file__).parent / "results" / "techniques.json"
SEEDS = [1, 2, 3]
TUNING_SEED = 0
SMALL, LARGE = 32, 256
BASE: Spec = {
    "model": {"kind": "convnet", "width": 8},
    "data": {"kind": "glyphs", "classes": 26, "train_samples": 4096, "heldout_samples": 2000},
    "epochs": 6,
}
FALL: Spec = {"kind": "polynomial", "power": 2.0, "warmup_epochs": 1.0}
SGD: Spec = {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.0005}
LARS: Spec = {"kind": "lars", "momentum": 0.9, "weight_decay": 0.0005, "skip": "none"}
LAMB: Spec = {"kind": "lamb", "weight_decay": 0.01}
LAMB_RATES = [0.005, 0.01, 0.02, 0.04, 0.08]
BY_SGD: Spec = {**BASE, "batch": SMALL, "optimizer": SGD, "schedule": {**FALL, "rate": 0.6}}
BY_LARS: Spec = {**BASE, "batch": LARGE, "optimizer": LARS, "schedule": {**FALL, "rate": 64.0}}
LEVEL: Spec = {**BY_SGD, "schedule": {"kind": "constant", "rate": 0.6, "warmup_epochs": 1.0}}
SCALED: Spec = {**BY_SGD, "batch": LARGE, "schedule": {**FALL, "rate": 0.6 * LARGE / SMALL}}
TECHNIQUES: dict[str, dict[str, Spec]] = {
    "label smoothing, small batch": {f"{eps:g}": {**BY_SGD, "label_smoothing": eps} for eps in (0.0, 0.1, 0.2)},
    "averages of the weights, level rate": {
        "none": LEVEL,
        **{f"{decay:g}": {**LEVEL, "ema_decay": decay} for decay in (0.9, 0.99, 0.999)},
        "none, but a falling rate": BY_SGD,
    },
    "clipping, linearly scaled rate at the large batch": {
        "none": SCALED,
        **{f"{norm:g}": {**SCALED, "clip_norm": norm} for norm in (5.0, 1.0, 0.2)},
    },
    "warm-up, LARS": {
        "none": {**BY_LARS, "schedule": {**FALL, "rate": 64.0, "warmup_epochs": 0.0}},
        "linear, one epoch": BY_LARS,
        "linear, two epochs": {**BY_LARS, "schedule": {**FALL, "rate": 64.0, "warmup_epochs": 2.0}},
        "quadratic, two epochs": {
            **BY_LARS,
            "schedule": {**FALL, "rate": 64.0, "warmup_epochs": 2.0, "warmup": "quadratic"},
        },
    },
    "decay, LARS": {
        "constant": {**BY_LARS, "schedule": {"kind": "constant", "rate": 64.0, "warmup_epochs": 1.0}},
        "polynomial, from the start": BY_LARS,
        "polynomial, from the warm-up": {**BY_LARS, "schedule": {**FALL, "rate": 64.0, "decay_from": "warmup"}},
        "step": {
            **BY_LARS,
            "schedule": {"kind": "step", "rate": 64.0, "warmup_epochs": 1.0, "milestones": [3.0, 5.0]},
        },
        "cosine": {**BY_LARS, "schedule": {"kind": "cosine", "rate": 64.0, "warmup_epochs": 1.0}},
    },
    "statistics of batch normalization, LARS": {
        kind: {**BY_LARS, "batch_norm": {"statistics": kind}} for kind in ("moving_average", "last_batch")
    },
    "passes of so many images, small batch": {
        f"{size}": {**BY_SGD, "micro_batch": size} for size in (2, 4, 8, 16, SMALL)
    },
    "precision, small batch": {kind: {**BY_SGD, "precision": kind} for kind in ("float32", "bfloat16", "float16")},
}


def lamb(batch: int, rate: float) -> Spec:
    return {**BASE, "batch": batch, "optimizer": LAMB, "schedule": {**FALL, "power": 1.0, "rate": rate}}


def accuracies(specs: list[Spec], *, workers: int) -> list[float]:
    """The last held-out accuracy of each run; 0 of one that diverged."""
    said = outcomes(specs, workers=workers)
    return [float(epochs[-1]["heldout_accuracy"] or 0.0) if len(epochs) == BASE["epochs"] else 0.0 for epochs in said]


def tuned(workers: int) -> tuple[dict[str, Spec], list[dict[str, Any]]]:
    """LAMB at either batch with its best rate, beside the others there, and the runs that chose it."""
    asked = [(batch, rate) for batch in (SMALL, LARGE) for rate in LAMB_RATES]
    found = accuracies([{**lamb(*one), "seed": TUNING_SEED} for one in asked], workers=workers)
    rows = [{"batch": b, "rate": r, "accuracy": a} for (b, r), a in zip(asked, found, strict=True)]
    chosen: dict[str, Spec] = {"SGD, small batch": BY_SGD, "LARS, large batch": BY_LARS, "SGD, large batch": SCALED}
    for batch, name in ((SMALL, "LAMB, small batch"), (LARGE, "LAMB, large batch")):
        best = max((row for row in rows if row["batch"] == batch), key=lambda row: row["accuracy"])
        chosen[name] = lamb(batch, best["rate"])
    return chosen, rows


def main() -> None:
    """Run every variant of every technique, print the tables and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    workers = parser.parse_args().workers
    optimizers, tuning = tuned(workers)
    techniques = {**TECHNIQUES, "optimizer": optimizers}
    variants = [(technique, name) for technique, made in techniques.items() for name in made]
    found = accuracies(
        [{**techniques[technique][name], "seed": seed} for technique, name in variants for seed in SEEDS],
        workers=workers,
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
