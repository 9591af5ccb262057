"""One rank of the overlap benchmark: backward alone, the sums alone, and both at once, by our hook and by plain DDP."""

import json
import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import FileStore  # type: ignore[attr-defined]
from torch.nn.parallel import DistributedDataParallel

from trainers.collectives import hook

WIDTH, LAYERS = 512, 32  # 1.05 MB a layer, 34 MB: 1.34 s on a link of 200 Mbit/s between two hosts
CALIBRATION_BATCH = 256


def main() -> None:
    """Carry out the task that the environment holds."""
    torch.set_num_threads(1)
    task = json.loads(os.environ["TASK"])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", store=FileStore(os.environ["STORE"], world), rank=rank, world_size=world)
    rows = [row for bucket_mb in task["buckets_mb"] for row in with_buckets(bucket_mb, task["repeats"])]
    if rank == 0:
        print(json.dumps(rows), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def with_buckets(bucket_mb: float, repeats: int) -> list[dict[str, Any]]:
    """Time the four for one size of bucket, in turns, so that noise meets all alike."""
    alone, ours, theirs = net(), ddp(bucket_mb), ddp(bucket_mb)
    hook.torus(ours)
    one_BD = torch.randn(1, WIDTH)
    for model in (ours, theirs, ours, theirs):  # connects; DDP cuts its buckets after the first pass
        backward(model, one_BD)
    sums_s = median(backward(ours, one_BD) for _ in range(3))
    x_BD = torch.randn(CALIBRATION_BATCH, WIDTH)
    for _ in range(2):  # so that backward takes about as long as the sums
        x_BD = torch.randn(round(len(x_BD) * sums_s / median(backward(alone, x_BD) for _ in range(3))), WIDTH)
    tasks: dict[str, Callable[[], float]] = {
        "backward": lambda: backward(alone, x_BD),
        "sums": lambda: backward(ours, one_BD),  # a backward pass of one sample takes no time beside them
        "step": lambda: backward(ours, x_BD),
        "gloo sums": lambda: backward(theirs, one_BD),
        "gloo step": lambda: backward(theirs, x_BD),
    }
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for repeat in range(repeats + 1):
        for name, timed in tasks.items():
            spent_s = timed()
            if repeat:
                seconds[name].append(spent_s)
    found = {name.replace(" ", "_") + "_s": median(all_s) for name, all_s in seconds.items()}
    longer_s = max(found["backward_s"], found["sums_s"])
    return [{"bucket_mb": bucket_mb, "batch": len(x_BD), **found, "ratio": found["step_s"] / longer_s}]


def net() -> nn.Module:
    """A stack of equal layers, so that gradients come evenly."""
    torch.manual_seed(0)
    return nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)])


def ddp(bucket_mb: float) -> DistributedDataParallel:
    return DistributedDataParallel(net(), bucket_cap_mb=bucket_mb)


def backward(model: nn.Module, x_BD: Tensor) -> float:
    """Return the seconds that the slowest rank's backward pass took, sums included."""
    model.zero_grad(set_to_none=False)
    loss = model(x_BD).square().mean()
    dist.barrier()
    started = time.perf_counter()
    loss.backward()
    spent_s = torch.tensor([time.perf_counter() - started], dtype=torch.float64)
    dist.all_reduce(spent_s, dist.ReduceOp.MAX)
    return float(spent_s)


if __name__ == "__main__":
    main()
