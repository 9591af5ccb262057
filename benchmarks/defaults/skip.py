"""`skip` of LARS and LAMB on a net with and a net without batch normalization, each tuned on the same number of rates.

    python -m benchmarks.defaults.skip [--workers 2] [--kept FILE]

Both nets have three convolutions and one linear layer: one with batch normalization and one bias, the other with four
biases and no normalization. The data are the digits. A separate seed chooses the rate of every case; three seeds
measure it at this rate. On these nets `one_dimensional` exempts the same parameters as `bias_and_norm`.
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
from torch import nn

from benchmarks.small_runs import execute_runs

Spec = dict[str, Any]
REPORT = Path(__file__).parents[1] / "results" / "skip.json"
SEEDS, TUNING_SEED = [1, 2, 3], 0
NETS: dict[str, Spec] = {
    "normalized": {"kind": "convnet", "width": 8},
    "plain": {"kind": "import", "function": "benchmarks.defaults.skip:plain_net", "options": {"width": 8}},
}
OPTIMIZERS: dict[str, Spec] = {
    "lars": {"kind": "lars", "momentum": 0.9, "weight_decay": 0.0005},
    "lamb": {"kind": "lamb", "weight_decay": 0.01},
}
RATES = {"lars": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0], "lamb": [0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16]}
EPOCHS = {64: 12, 256: 24}  # by the batch: 264 and 120 steps
BATCHES = {"lars": [64, 256], "lamb": [256]}
SKIPS = ["none", "bias_and_norm"]
Case = tuple[str, str, int, str]  # net, optimizer, batch, skip
CASES: list[Case] = [
    (net, optimizer, batch, skip)
    for net in NETS
    for optimizer in OPTIMIZERS
    for batch in BATCHES[optimizer]
    for skip in SKIPS
]


def plain_net(*, channels: int, classes: int, width: int) -> nn.Module:
    """Return the small convolutional net without its batch normalization, with biases."""
    layers: list[nn.Module] = []
    for inputs, outputs, stride in ((channels, width, 1), (width, 2 * width, 2), (2 * width, 4 * width, 2)):
        convolution = nn.Conv2d(inputs, outputs, kernel_size=3, stride=stride, padding=1)
        nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
        layers += [convolution, nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16 * width, classes))


def spec_of(case: Case, rate: float, seed: int) -> Spec:
    """Return the spec of one run."""
    net, optimizer, batch, skip = case
    return {
        "model": NETS[net],
        "data": {"kind": "digits"},
        "optimizer": {**OPTIMIZERS[optimizer], "skip": skip},
        "schedule": {"kind": "polynomial", "power": 2.0, "warmup_epochs": 1.0, "rate": rate},
        "batch": batch,
        "epochs": EPOCHS[batch],
        "seed": seed,
    }


def accuracies(specs: list[Spec], *, workers: int, finished: Path) -> list[float]:
    """Return the last held-out accuracy of each run, 0 if it diverged; runs in `finished` are not repeated."""
    known = dict(json.loads(line) for line in finished.read_text().splitlines()) if finished.exists() else {}
    names = [json.dumps(spec, sort_keys=True) for spec in specs]
    missing = {name: spec for name, spec in zip(names, specs, strict=True) if name not in known}
    for name, epochs in zip(missing, execute_runs(list(missing.values()), workers=workers), strict=True):
        known[name] = epochs[-1]["heldout_accuracy"] if len(epochs) == json.loads(name)["epochs"] else 0.0
        with finished.open("a") as file:
            file.write(json.dumps([name, known[name]]) + "\n")
    return [known[name] for name in names]


def measure(case: Case, *, workers: int, finished: Path) -> dict[str, Any]:
    """Tune the rate of a case, and return its row of the report."""
    rates = RATES[case[1]]
    tuned = accuracies([spec_of(case, rate, TUNING_SEED) for rate in rates], workers=workers, finished=finished)
    best = rates[tuned.index(max(tuned))]
    found = accuracies([spec_of(case, best, seed) for seed in SEEDS], workers=workers, finished=finished)
    row: dict[str, Any] = dict(zip(("net", "optimizer", "batch", "skip"), case, strict=True))
    row |= {"rate": best, "mean": statistics.mean(found), "stdev": statistics.stdev(found), "accuracies": found}
    print(" ".join(f"{value:8.4g}" if isinstance(value, float) else f"{value!s:14}" for value in row.values()))
    return row | {"by rate": dict(zip(map(str, rates), tuned, strict=True))}


def main() -> None:
    """Measure every case, print a table and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kept", type=Path, dest="finished", help="file of finished runs, which are not repeated")
    options = parser.parse_args()
    finished = options.finished or Path(tempfile.mkdtemp()) / "runs.jsonl"
    rows = [measure(case, workers=options.workers, finished=finished) for case in CASES]
    machine = f"{torch.get_num_threads()} threads, {platform.system()}"
    report = {"machine": machine, "python": platform.python_version(), "torch": torch.__version__, "seeds": SEEDS}
    REPORT.write_text(json.dumps({**report, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
