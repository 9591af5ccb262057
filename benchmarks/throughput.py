"""How many samples a second does a step train, beside plain PyTorch? `make bench NAME=throughput`, some four minutes.

The same net, batch and optimizer, turn by turn within one run: the engine's whole step (rule, collective, watch,
report), and what a user would write, under DistributedDataParallel from two ranks on. Neither waits for input. The goal
is a median ratio of at least 1.0 for every net. The images are small so that the run is short.
"""

import json
import platform
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.ranks import on_ranks

ROUNDS = 5
CASES: dict[str, tuple[int, int]] = {  # net -> pixels of a side, samples per rank
    "convnet": (28, 64),
    "lenet": (28, 64),
    "alexnet": (67, 32),
    "alexnet_bn": (67, 32),
    "nin": (67, 32),
    "googlenet": (64, 16),
    "resnet18": (64, 16),
    "resnet50": (64, 16),
    "resnet50_v2": (64, 16),
}
RESULT = Path(__file__).parent / "results" / "throughput.json"


def main() -> None:
    """Measure every net on one and two ranks, print the table and write the report."""
    rows = [measure(kind, ranks) for ranks in (1, 2) for kind in CASES]
    cores, versions = torch.get_num_threads(), {"torch": torch.__version__, "python": platform.python_version()}
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": cores}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"machine": machine, "versions": versions, "rows": rows}, indent=1) + "\n")


def measure(kind: str, ranks: int) -> dict[str, Any]:
    """One net on so many ranks of this machine."""
    run = spec(kind, ranks)
    found = on_ranks("benchmarks.throughput_rank", [""], ranks, {"run": run, "rounds": ROUNDS})
    row = {**judge(found["seconds"], run["batch"]), "device": found["device"], "ranks": ranks, "run": run}
    print(
        f"{kind:12} {ranks} x {found['device']}: {row['ours_per_s']:8.1f} samples/s, {row['ratio']:.3f} x plain PyTorch"
    )
    return {"net": kind, **row}


def spec(kind: str, ranks: int) -> dict[str, Any]:
    pixels, share = CASES[kind]
    return {
        "model": {"kind": kind},
        "data": {"kind": "synthetic", "height": pixels, "width": pixels, "train_samples": share * ranks},
        "optimizer": {"kind": "sgd", "momentum": 0.9, "weight_decay": 1e-4},
        "schedule": {"kind": "constant", "rate": 1e-3},
        "batch": share * ranks,
        "epochs": 1,
        "resources": {"kind": "local", "ranks_per_node": ranks},
    }


def judge(seconds: dict[str, list[float]], batch: int) -> dict[str, Any]:
    """Samples a second of both, and how many times as many are ours: the median over the rounds."""
    ratios = [plain / ours for ours, plain in zip(seconds["ours"], seconds["plain"], strict=True)]
    return {
        "ours_per_s": batch / median(seconds["ours"]),
        "plain_per_s": batch / median(seconds["plain"]),
        "ratio": median(ratios),
        "ratios": ratios,
    }


if __name__ == "__main__":
    main()
