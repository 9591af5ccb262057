"""One rank of the all-reduce benchmark: sums vectors by every algorithm in turn, and rank 0 says how long each took."""

import json
import os
import time
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import FileStore  # type: ignore[attr-defined]

from benchmarks.algorithms import algorithms
from trainers.collectives.runner import Allreduce


def main() -> None:
    """Carry out the task that the environment holds."""
    torch.set_num_threads(1)
    task = json.loads(os.environ["TASK"])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", store=FileStore(os.environ["STORE"], world), rank=rank, world_size=world)
    rows = [row for nbytes in task["sizes"] for row in sized(nbytes, task)]
    dist.barrier()
    if rank == 0:
        print(json.dumps(rows), flush=True)
    dist.destroy_process_group()


def sized(nbytes: int, task: dict[str, Any]) -> list[dict[str, Any]]:
    """Time every algorithm on vectors of this size: all of them once, then all again, so that noise meets all alike."""
    made = algorithms(dist.get_world_size(), task["ranks_per_host"], task["algorithms"])
    repeats = task["repeats"] * 10 if nbytes <= 1 << 20 else min(task["repeats"], 3 if nbytes >> 26 else 99)
    seconds: dict[str, list[float]] = {name: [] for name in made}
    for repeat in range(repeats + 1):
        for name, allreduce in made.items():
            spent_s = timed(allreduce, nbytes)
            if repeat:  # the first one connects and warms up
                seconds[name].append(spent_s)
    return [
        {"bytes": nbytes, "algorithm": name, "seconds": median(all_s), "fastest_s": min(all_s)}
        for name, all_s in seconds.items()
    ]


def timed(allreduce: Allreduce, nbytes: int) -> float:
    """Return the seconds that the slowest rank took."""
    x_N = torch.full((nbytes // 4,), float(dist.get_rank() + 1))
    dist.barrier()
    started = time.perf_counter()
    allreduce(x_N)
    spent_s = torch.tensor([time.perf_counter() - started], dtype=torch.float64)
    world = dist.get_world_size()
    assert bool((x_N == world * (world + 1) / 2).all()), "wrong sum"
    dist.all_reduce(spent_s, dist.ReduceOp.MAX)
    return float(spent_s)


if __name__ == "__main__":
    main()
