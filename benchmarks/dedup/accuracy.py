"""The held-out accuracy of a small net by the threshold of the search, on glyphs of which 30 % are altered copies.

Every threshold trains with the same number of epochs on the images that stay. Beside it, as many images left out at
random show what the smaller number alone costs; "no copies" is the set without a search and without its copies.
"""

import json
import statistics
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.small_runs import execute_runs
from trainers.data.dedup.altered_copies import DUPLICATES
from trainers.data.dedup.duplicates import HashSettings
from trainers.data.dedup.repeated_glyphs import CLASSES, HELDOUT, TRAIN, make_glyphs, search

DEFAULT = HashSettings()
SEEDS = (1, 2, 3)
THRESHOLDS = (24, 36, 76, 80)  # at which 24, 30, 40 and 50 % of the images are left out
EPOCHS, BATCH = 8, 32
FUNCTION = "trainers.data.dedup.repeated_glyphs:repeated_glyphs"


def spec(samples: int, options: dict[str, Any], seed: int) -> dict[str, Any]:
    """Return the spec of one run; the copies are other ones with each seed."""
    data = {"kind": "import", "function": FUNCTION, "options": {**options, "copies_seed": seed}}
    sizes = {"shape": [1, 28, 28], "classes": CLASSES, "train_samples": samples, "heldout_samples": HELDOUT}
    return {
        "model": {"kind": "convnet", "width": 8},
        "data": {**data, **sizes},
        "optimizer": {"kind": "sgd", "momentum": 0.9, "weight_decay": 0.0005},
        "schedule": {"kind": "polynomial", "power": 2.0, "rate": 0.4, "warmup_epochs": 1.0},
        "batch": BATCH,
        "epochs": EPOCHS,
        "seed": seed,
    }


def measure_accuracy(workers: int, finished: Path) -> list[dict[str, Any]]:
    """Return a row for each threshold and for each choice of the images that are left out."""
    cases: list[tuple[str, int | None]] = [("all images", None)]
    cases += [(choice, threshold) for threshold in THRESHOLDS for choice in ("dedup", "random")]
    specs, kept = [], []
    for choice, threshold in cases:
        for seed in SEEDS:
            samples = TRAIN if threshold is None else _count_kept(threshold, seed)
            options = {} if threshold is None else {"threshold": threshold, "choice": choice}
            specs.append(spec(samples, options, seed))
            kept.append(samples)
    found = _execute(specs, workers, finished)
    rows = []
    for number, (choice, threshold) in enumerate(cases):
        part = slice(number * len(SEEDS), (number + 1) * len(SEEDS))
        mean, spread = statistics.mean(found[part]), statistics.stdev(found[part])
        share = 1 - statistics.mean(kept[part]) / TRAIN
        row = {"choice": choice, "threshold": threshold, "left_out": round(share, 4), "accuracies": found[part]}
        rows.append({**row, "mean": round(mean, 4), "stdev": round(spread, 4)})
        print(f"{choice:10} {threshold!s:>5} left out {share:6.1%} accuracy {mean:7.2%} +- {spread:.2%}", flush=True)
    return rows


@cache
def _count_kept(threshold: int, seed: int) -> int:
    settings = HashSettings(DEFAULT.kind, DEFAULT.bits, threshold)
    return len(search(make_glyphs(DUPLICATES, seed).train, settings).leaders)


def _execute(specs: list[dict[str, Any]], workers: int, finished: Path) -> list[float]:
    """Return the last held-out accuracy of each run; runs in `finished` are not repeated."""
    lines = finished.read_text().splitlines() if finished.exists() else []
    known: dict[str, float] = dict(json.loads(line) for line in lines)
    names = [json.dumps(one, sort_keys=True) for one in specs]
    missing = {name: one for name, one in zip(names, specs, strict=True) if name not in known}
    for name, epochs in zip(missing, execute_runs(list(missing.values()), workers=workers), strict=True):
        known[name] = (epochs[-1]["heldout_accuracy"] or 0.0) if len(epochs) == EPOCHS else 0.0
        with finished.open("a") as file:
            file.write(json.dumps([name, known[name]]) + "\n")
    return [known[name] for name in names]
