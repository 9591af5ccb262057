"""Samples per second of the engine compared with plain PyTorch: `make bench NAME=throughput`, about eight minutes.

Both use the same net, data, batch and optimizer, in alternating blocks within one run: the engine's steps with time
measurement and report, and a plain training loop, with DistributedDataParallel from two ranks on. The goal is a median
ratio of at least 1.0 for every net. The images are small, so that the benchmark is short.
"""

import json
import platform
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.launcher import run_ranks

SPAN_S = 16.0  # for all blocks of a net; many short blocks reduce the effect of other load
CASES: dict[str, tuple[int, int]] = {  # net -> side in pixels, samples per rank
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
GPU_CASE = ("resnet50", 224, 256)  # net, side in pixels, images per GPU
PUBLISHED_PER_S = {  # images/s of ResNet-50 on one GPU
    "A100": 2470,  # NVIDIA's DeepLearningExamples, PyTorch 21.03, mixed precision
    "H100": 6900,  # from MLPerf 3.0: 13.466 minutes for 35 epochs on eight GPUs
}
RESULT = Path(__file__).parents[1] / "results" / "throughput.json"


def main() -> None:
    """Measure every net on one and two ranks, print a table and write the report."""
    gpus = torch.cuda.device_count()
    if gpus:
        rows = [measure(GPU_CASE[0], ranks, on_gpu=True) for ranks in sorted({1, gpus})]
    else:
        rows = [measure(kind, ranks) for ranks in (1, 2) for kind in CASES]
    cores, versions = torch.get_num_threads(), {"torch": torch.__version__, "python": platform.python_version()}
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": cores}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"machine": machine, "versions": versions, "rows": rows}, indent=1) + "\n")


def measure(kind: str, ranks: int, *, on_gpu: bool = False) -> dict[str, Any]:
    """Measure one net on this machine and return a row; on a GPU compiled, in bfloat16, with channels_last."""
    run = gpu_spec(ranks) if on_gpu else spec(kind, ranks, *CASES[kind])
    task = {"run": run, "span_s": SPAN_S, "compiled": on_gpu}
    found = run_ranks("benchmarks.throughput.rank", [""], ranks, task)
    row = {"net": kind, "ranks": ranks, **compare(found.pop("seconds"), run["batch"]), **found}
    print(
        f"{kind:12} {ranks} x {row['device']}: {row['ours_per_s']:8.1f} samples/s, {row['ratio']:.3f} x plain PyTorch"
    )
    if on_gpu:
        row["of_published"] = {name: row["ours_per_s"] / ranks / per_s for name, per_s in PUBLISHED_PER_S.items()}
        print(f"{'':12} of the published figures: {row['of_published']}; bound by: {row['bound']}")
    return {**row, "run": run}


def gpu_spec(ranks: int) -> dict[str, Any]:
    """Return the spec of the GPU case."""
    kind, pixels, share = GPU_CASE
    run = spec(kind, ranks, pixels, share, classes=1000)
    return {**run, "precision": "bfloat16", "channels_last": True}


def spec(kind: str, ranks: int, pixels: int, share: int, classes: int = 10) -> dict[str, Any]:
    """Return the spec of a case."""
    return {
        "model": {"kind": kind},
        "data": {
            "kind": "synthetic",
            "height": pixels,
            "width": pixels,
            "classes": classes,
            "train_samples": 1_000_000,
        },
        "optimizer": {"kind": "sgd", "momentum": 0.9, "weight_decay": 1e-4},
        "schedule": {"kind": "constant", "rate": 1e-3},
        "batch": share * ranks,
        "epochs": 1,
        "resources": {"kind": "local", "ranks_per_node": ranks},
    }


def compare(seconds: dict[str, list[float]], batch: int) -> dict[str, Any]:
    """Return samples/s of both, and the median over the rounds of their ratio."""
    ratios = [plain / ours for ours, plain in zip(seconds["ours"], seconds["plain"], strict=True)]
    return {
        "ours_per_s": batch / median(seconds["ours"]),
        "plain_per_s": batch / median(seconds["plain"]),
        "ratio": median(ratios),
        "ratios": ratios,
    }


if __name__ == "__main__":
    main()
