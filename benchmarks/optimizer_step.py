"""The time of a step of LARS and LAMB compared with torch.optim.SGD, on the parameters of ResNet-50.

    python -m benchmarks.optimizer_step [--repeats 41]

The optimizers step in turn within one run, and the report compares medians. The baseline is SGD(foreach=True) with
momentum and without weight decay.
"""

import argparse
import json
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from trainers.models.resnet import ResNet
from trainers.optimizers.exempt import adapting_groups
from trainers.optimizers.lamb import LAMB
from trainers.optimizers.lars import LARS

REPORT = Path(__file__).parent / "results" / "optimizer_step.json"
BASELINE = "sgd"


def net(grads: list[Tensor]) -> ResNet:
    """Return a ResNet-50 with the given gradients."""
    resnet = ResNet(3, 1000)
    for p, grad in zip(resnet.parameters(), grads, strict=True):
        p.grad = grad
    return resnet


def optimizers() -> dict[str, torch.optim.Optimizer]:
    """Return the baseline and the measured optimizers, each with its own net; the nets share the gradients."""
    grads = [1e-3 * torch.randn_like(p) for p in ResNet(3, 1000).parameters()]
    plain: dict[str, Any] = {"lr": 1e-4, "momentum": 0.9}
    decaying = {**plain, "weight_decay": 5e-5}
    return {
        BASELINE: torch.optim.SGD(net(grads).parameters(), foreach=True, **plain),
        "sgd, weight decay": torch.optim.SGD(net(grads).parameters(), foreach=True, **decaying),
        "sgd, weight decay, fused": torch.optim.SGD(net(grads).parameters(), fused=True, **decaying),
        "lars": LARS(adapting_groups(net(grads), "bias_and_norm"), **decaying),
        "lars, nothing skipped": LARS(net(grads).parameters(), **decaying),
        "adam": torch.optim.Adam(net(grads).parameters(), foreach=True, lr=1e-4),
        "lamb": LAMB(adapting_groups(net(grads), "bias_and_norm"), lr=1e-4),
    }


def measure(repeats: int) -> dict[str, list[float]]:
    """Return the seconds of each step; the optimizers step in turn."""
    torch.manual_seed(0)
    measured = optimizers()
    for optimizer in measured.values():
        optimizer.step()
    seconds: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(repeats):
        for name, optimizer in measured.items():
            begin = time.perf_counter()
            optimizer.step()
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def main() -> None:
    """Measure all optimizers, write the report and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=41)
    seconds = measure(parser.parse_args().repeats)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    rows = {
        name: {"median_s": medians[name], "fastest_s": min(times), "times_sgd": medians[name] / medians[BASELINE]}
        for name, times in seconds.items()
    }
    machine = {"processor": platform.machine(), "threads": torch.get_num_threads(), "torch": torch.__version__}
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(
        json.dumps({"machine": machine, "repeats": len(seconds[BASELINE]), "rows": rows}, indent=1) + "\n"
    )
    for name, row in rows.items():
        print(f"{name:26} {1e3 * row['median_s']:7.2f} ms  {row['times_sgd']:5.2f} x sgd")


if __name__ == "__main__":
    main()
