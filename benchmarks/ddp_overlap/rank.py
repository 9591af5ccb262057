"""One rank of the overlap benchmark: time backward, all-reduce, and both together, with the hook and plain DDP."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from benchmarks.rank_group import run_rank
from trainers.collectives import hook

WIDTH, LAYERS = 512, 32  # 1.05 MB per layer, 34 MB in total: 1.34 s on a link of 200 Mbit/s between two hosts
CALIBRATION_BATCH = 256


def main() -> None:
    """Execute the task in the environment variable TASK."""
    run_rank(measure)


def measure(task: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a row for each bucket size."""
    return [row for bucket_mb in task["buckets_mb"] for row in measure_bucket_size(bucket_mb, task["repeats"])]


def measure_bucket_size(bucket_mb: float, repeats: int) -> list[dict[str, Any]]:
    """Time all tasks for one bucket size in turn, so that other load affects them alike."""
    plain, hooked, gloo = net(), ddp(bucket_mb), ddp(bucket_mb)
    hook.torus(hooked)
    one_BD = torch.randn(1, WIDTH)
    for model in (hooked, gloo, hooked, gloo):  # connect; DDP defines its buckets after the first pass
        backward(model, one_BD)
    sums_s = median(backward(hooked, one_BD) for _ in range(3))
    x_BD = torch.randn(CALIBRATION_BATCH, WIDTH)
    for _ in range(2):  # until backward takes about as long as the all-reduce
        x_BD = torch.randn(round(len(x_BD) * sums_s / median(backward(plain, x_BD) for _ in range(3))), WIDTH)
    tasks: dict[str, Callable[[], float]] = {
        "backward": lambda: backward(plain, x_BD),
        "sums": lambda: backward(hooked, one_BD),  # the backward pass of one sample takes almost no time
        "step": lambda: backward(hooked, x_BD),
        "gloo sums": lambda: backward(gloo, one_BD),
        "gloo step": lambda: backward(gloo, x_BD),
    }
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(repeats + 1):
        for name, run_task in tasks.items():
            spent_s = run_task()
            if repeat:
                seconds[name].append(spent_s)
    found = {name.replace(" ", "_") + "_s": median(all_s) for name, all_s in seconds.items()}
    longer_s = max(found["backward_s"], found["sums_s"])
    return [{"bucket_mb": bucket_mb, "batch": len(x_BD), **found, "ratio": found["step_s"] / longer_s}]


def net() -> nn.Module:
    """Return a stack of equal layers, whose gradients become ready at regular intervals."""
    torch.manual_seed(0)
    return nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)])


def ddp(bucket_mb: float) -> DistributedDataParallel:
    """Return the net under DDP with a bucket size."""
    return DistributedDataParallel(net(), bucket_cap_mb=bucket_mb)


def backward(model: nn.Module, x_BD: Tensor) -> float:
    """Return the seconds of the slowest rank's backward pass, with the all-reduce."""
    model.zero_grad(set_to_none=False)
    loss = model(x_BD).square().mean()
    dist.barrier()
    started = time.perf_counter()
    loss.backward()
    spent_s = torch.tensor([time.perf_counter() - started], dtype=torch.float64)
    dist.all_reduce(spent_s, dist.ReduceOp.MAX)
    return float(spent_s)
