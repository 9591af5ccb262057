"""What does a step of LARS and of LAMB cost beside torch.optim.SGD's, on ResNet-50's parameters?

    python -m benchmarks.optimizer_step [--repeats 41]

All step in turn in one run, and medians are compared; the yardstick is SGD(foreach=True) with momentum, without
weight decay.
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
YARDSTICK = "sgd"


def net(grads: list[Tensor]) -> ResNet:
    """A ResNet-50 with the given gradients."""
    made = ResNet(3, 1000)
    for p, grad in zip(made.parameters(), grads, strict=True):
        p.grad = grad
    return made


def optimizers() -> dict[str, torch.optim.Optimizer]:
    """The yardstick and those that are measured, each on a net of its own; they share the gradients."""
    grads = [1e-3 * torch.randn_like(p) for p in ResNet(3, 1000).parameters()]
    plain: dict[str, Any] = {"lr": 1e-4, "momentum": 0.9}
    decaying = {**plain, "weight_decay": 5e-5}
    return {
        YARDSTICK: torch.optim.SGD(net(grads).parameters(), foreach=True, **plain),
        "sgd, weight decay": torch.optim.SGD(net(grads).parameters(), foreach=True, **decaying),
        "sgd, weight decay, fused": torch.optim.SGD(net(grads).parameters(), fused=True, **decaying),
        "lars": LARS(adapting_groups(net(grads), "bias_and_norm"), **decaying),
        "lars, nothing skipped": LARS(net(grads).parameters(), **decaying),
        "adam": torch.optim.Adam(net(grads).parameters(), foreach=True, lr=1e-4),
        "lamb": LAMB(adapting_groups(net(grads), "bias_and_norm"), lr=1e-4),
    }


def measure(repeats: int) -> dict[str, list[float]]:
    """Seconds of each step, the optimizers taking turns."""
    torch.manual_seed(0)
    compared = optimizers()
    for optimizer in compared.values():
        optimizer.step()
    seconds: dict[str, list[float]] = {name: [] for name in compared}
    for _ in range(repeats):
        for name, optimizer in compared.items():
            begin = time.perf_counter()
            optimizer.step()
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=41)
    seconds = measure(parser.parse_args().repeats)
    medians = {name: statistics.median(times) for name, times in seconds.items()}
    rows = {
        name: {"median_s": medians[name], "fastest_s": min(times), "times_sgd": medians[name] / medians[YARDSTICK]}
        for name, times in seconds.items()
    }
    machine = {"processor": platform.machine(), "threads": torch.get_num_threads(), "torch": torch.__version__}
    REPORT.parent.mkdir(exist_ok=True)
    REPORT.write_text(
        json.dumps({"machine": machine, "repeats": len(seconds[YARDSTICK]), "rows": rows}, indent=1) + "\n"
    )
    for name, row in rows.items():
        print(f"{name:26} {1e3 * row['median_s']:7.2f} ms  {row['times_sgd']:5.2f} x sgd")


if __name__ == "__main__":
    main()
