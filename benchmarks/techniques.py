"""The effect of each technique on the held-out accuracy, compared with the same run without the technique.

    python -m benchmarks.techniques [--workers 2] [--kept FILE]

All runs use one small problem: 4,096 glyphs of 26 classes, a small convolutional net, four epochs, three seeds. A batch
of 32 has 512 steps, a batch of 256 has 64. Rates are round numbers near the best of `batch_scaling`; the rates of LAMB
are tuned on a grid with a separate seed. Differences below the deviation over the seeds are not significant.
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

from benchmarks.small_runs import execute_runs

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
DECAY: Spec = {"kind": "polynomial", "power": 2.0, "warmup_epochs": 1.0}
SGD: Spec = {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.0005}
LARS: Spec = {"kind": "lars", "momentum": 0.9, "weight_decay": 0.0005, "skip": "none"}
LAMB: Spec = {"kind": "lamb", "weight_decay": 0.01}
LAMB_RATES = [0.005, 0.01, 0.02, 0.04, 0.08]
WITH_SGD: Spec = {**BASE, "batch": SMALL, "optimizer": SGD, "schedule": {**DECAY, "rate": 0.6}}
CONSTANT: Spec = {**WITH_SGD, "schedule": {"kind": "constant", "rate": 0.6, "warmup_epochs": 1.0}}
SCALED: Spec = {**WITH_SGD, "batch": LARGE, "schedule": {**DECAY, "rate": 0.6 * LARGE / SMALL}}


def with_lars(schedule: Spec) -> Spec:
    """Return the spec of a run with LARS, the large batch and a schedule."""
    return {**BASE, "batch": LARGE, "optimizer": LARS, "schedule": {**schedule, "rate": 64.0}}


TECHNIQUES: dict[str, dict[str, Spec]] = {
    "label smoothing": {f"{eps:g}": {**WITH_SGD, "label_smoothing": eps} for eps in (0.0, 0.1)},
    "averages of the weights": {
        "none": CONSTANT,
        **{f"{decay:g}": {**CONSTANT, "ema_decay": decay} for decay in (0.9, 0.98, 0.999)},
        "none, a falling rate": WITH_SGD,
    },
    "clipping, a scaled rate": {"none": SCALED, **{f"{c:g}": {**SCALED, "clip_norm": c} for c in (5.0, 1.0, 0.2)}},
    "warm-up of LARS": {
        "none": with_lars({**DECAY, "warmup_epochs": 0.0}),
        "linear, 1 epoch": with_lars(DECAY),
        "quadratic, 1 epoch": with_lars({**DECAY, "warmup": "quadratic"}),
        "linear, 2 epochs": with_lars({**DECAY, "warmup_epochs": 2.0}),
    },
    "decay of LARS": {
        "none": with_lars({"kind": "constant", "warmup_epochs": 1.0}),
        "polynomial, from the start": with_lars(DECAY),
        "polynomial, from the warm-up": with_lars({**DECAY, "decay_from": "warmup"}),
        "step": with_lars({"kind": "step", "warmup_epochs": 1.0, "milestones": [2.0, 3.0]}),
        "cosine": with_lars({"kind": "cosine", "warmup_epochs": 1.0}),
    },
    "statistics an evaluation takes": {
        kind: {**with_lars(DECAY), "batch_norm": {"statistics": kind}} for kind in ("moving_average", "last_batch")
    },
    "images a pass": {f"{size}": {**WITH_SGD, "micro_batch": size} for size in (2, 8, SMALL)},
}


def with_lamb(batch: int, rate: float) -> Spec:
    """Return the spec of a run with LAMB."""
    return {**BASE, "batch": batch, "optimizer": LAMB, "schedule": {**DECAY, "power": 1.0, "rate": rate}}


def accuracies(specs: list[Spec], *, workers: int, finished: Path) -> list[float]:
    """Return the last held-out accuracy of each run, 0 if it diverged; runs in `finished` are not repeated."""
    lines = finished.read_text().splitlines() if finished.exists() else []
    known = dict(json.loads(line) for line in lines)
    names = [json.dumps(spec, sort_keys=True) for spec in specs]
    missing = {name: spec for name, spec in zip(names, specs, strict=True) if name not in known}
    results = execute_runs(list(missing.values()), workers=workers)
    for name, epochs in zip(missing, results, strict=True):
        known[name] = epochs[-1]["heldout_accuracy"] if len(epochs) == BASE["epochs"] else 0.0
        with finished.open("a") as file:
            file.write(json.dumps([name, known[name]]) + "\n")
    return [known[name] for name in names]


def tune(workers: int, finished: Path) -> tuple[dict[str, Spec], list[dict[str, Any]]]:
    """Return the variants of the optimizers, LAMB with its best rates, and the rows of the tuning runs."""
    cases = [(batch, rate) for batch in (SMALL, LARGE) for rate in LAMB_RATES]
    specs = [{**with_lamb(*case), "seed": TUNING_SEED} for case in cases]
    found = accuracies(specs, workers=workers, finished=finished)
    rows = [{"batch": b, "rate": r, "accuracy": a} for (b, r), a in zip(cases, found, strict=True)]
    chosen: dict[str, Spec] = {
        "SGD, small batch": WITH_SGD,
        "LARS, large batch": with_lars(DECAY),
        "SGD, large batch": SCALED,
    }
    for batch, name in ((SMALL, "LAMB, small batch"), (LARGE, "LAMB, large batch")):
        best = max((row for row in rows if row["batch"] == batch), key=lambda row: row["accuracy"])
        chosen[name] = with_lamb(batch, best["rate"])
    return chosen, rows


def main() -> None:
    """Run every variant of every technique, print a table and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=Path, dest="finished", help="file of finished runs, which are not repeated")
    options = parser.parse_args()
    workers, finished = options.workers, options.finished or Path(tempfile.mkdtemp()) / "runs.jsonl"
    optimizers, tuning = tune(workers, finished)
    techniques = {**TECHNIQUES, "optimizer": optimizers}
    variants = [(technique, name) for technique, own in techniques.items() for name in own]
    found = accuracies(
        [{**techniques[technique][name], "seed": seed} for technique, name in variants for seed in SEEDS],
        workers=workers,
        finished=finished,
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
