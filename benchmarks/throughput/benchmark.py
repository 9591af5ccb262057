"""Samples per second of the engine compared with plain PyTorch: `make bench NAME=throughput`, about eight minutes.

Both use the same net, data, batch and optimizer, in alternating blocks within one run: the engine's steps with time
measurement and report, and a plain training loop, with DistributedDataParallel from two ranks on. The engine's SGD is
torch's fused one, so the plain loop runs twice: with torch.optim.SGD as it is by default, and with fused=True. The goal
is a median ratio of at least 1.0 for every net. On CPUs the images are small, so that the benchmark is short. On GPUs
the batches of all loops are on the GPU already: the steps are compared, not the input.
"""

import argparse
import json
import platform
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.launcher import run_ranks

SPAN_S = 21.0  # for all blocks of a net; many short blocks reduce the effect of other load
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
GPU_SPAN_S = 6.0
FAST = {"precision": "bfloat16", "channels_last": True}
GPU_CASES: list[tuple[str, int, int, dict[str, Any]]] = [  # net, side in pixels, images per GPU, fields of the spec
    ("resnet50", 224, 256, FAST),
    ("resnet50_v2", 224, 256, FAST),
    ("googlenet", 224, 256, FAST),
    ("alexnet_bn", 227, 512, FAST),
    # so small that the GPU waits for the host in every step
    ("resnet18", 64, 16, {}),
    ("convnet", 28, 64, {}),
    ("resnet50", 224, 256, {**FAST, "compile": True}),
]
PUBLISHED_PER_S = {  # images/s of ResNet-50 on one GPU
    "A100": 2470,  # NVIDIA's DeepLearningExamples, PyTorch 21.03, mixed precision
    "H100": 6900,  # from MLPerf 3.0: 13.466 minutes for 35 epochs on eight GPUs
}
RESULTS = Path(__file__).parents[1] / "results"


def main() -> None:
    """Measure every net, on one and two ranks of CPUs or on one and all GPUs, and write the report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.throughput")
    parser.add_argument("--output", type=Path, help="the report; default: benchmarks/results/throughput.json or _gpu")
    output = parser.parse_args().output
    gpus = torch.cuda.device_count()
    output = output or RESULTS / ("throughput_gpu.json" if gpus else "throughput.json")
    cores, versions = torch.get_num_threads(), {"torch": torch.__version__, "python": platform.python_version()}
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": cores}
    rows: list[dict[str, Any]] = []
    for row in measure_all(gpus):
        rows.append(row)
        output.write_text(json.dumps({"machine": machine, "versions": versions, "rows": rows}, indent=1) + "\n")


def measure_all(gpus: int) -> Iterator[dict[str, Any]]:
    """Measure every net and yield its row."""
    for ranks in sorted({1, gpus}) if gpus else (1, 2):
        if gpus:
            yield from (measure_on_gpus(case, ranks) for case in GPU_CASES)
        else:
            yield from (measure(spec(kind, ranks, *CASES[kind]), ranks) for kind in CASES)


def measure(run: dict[str, Any], ranks: int, *, span_s: float | None = None) -> dict[str, Any]:
    """Measure the net of a spec on this machine and return a row."""
    task = {"run": run, "span_s": SPAN_S if span_s is None else span_s}
    found = run_ranks("benchmarks.throughput.rank", [""], ranks, task)
    kind = run["model"]["kind"]
    row = {"net": kind, "ranks": ranks, **compare(found.pop("seconds"), run["batch"]), **found}
    print(
        f"{kind:12} {ranks} x {row['device']}: {row['ours_per_s']:8.1f} samples/s, {row['ratio']:.3f} x plain PyTorch, "
        f"{row['ratio_to_fused']:.3f} x with fused SGD",
        flush=True,
    )
    return {**row, "run": run}


def measure_on_gpus(case: tuple[str, int, int, dict[str, Any]], ranks: int) -> dict[str, Any]:
    """Measure a case on GPUs and return a row, with the bound of the step and its share of published figures."""
    kind, pixels, share, fields = case
    row = measure(spec(kind, ranks, pixels, share, classes=1000) | fields, ranks, span_s=GPU_SPAN_S)
    row["bound"] = row.pop("roofline")
    if kind == "resnet50":
        row["of_published"] = {name: row["ours_per_s"] / ranks / per_s for name, per_s in PUBLISHED_PER_S.items()}
    print(f"{'':12} {fields}, {row['bound']}, of the published figures: {row.get('of_published')}", flush=True)
    return row


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
    """Return samples/s of the engine and of plain PyTorch, and the medians over the rounds of their ratios."""
    ratios = {
        name: [plain / ours for ours, plain in zip(seconds["ours"], of_plain, strict=True)]
        for name, of_plain in seconds.items()
        if name != "ours"
    }
    return {
        "ours_per_s": batch / median(seconds["ours"]),
        "plain_per_s": batch / median(seconds["plain"]),
        "ratio": median(ratios["plain"]),
        "ratio_to_fused": median(ratios["plain fused"]),
        "ratios": ratios,
    }


if __name__ == "__main__":
    main()
