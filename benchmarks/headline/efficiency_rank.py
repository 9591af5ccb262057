"""One rank of the efficiency benchmark: steps of a wait and an all-reduce; rank 0 prints the median seconds."""

import time
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from benchmarks.rank_group import run_rank
from trainers.collectives.layout import hosts_of
from trainers.collectives.plans import ring, torus
from trainers.collectives.runners.allreduce import Allreduce, make_allreduce


def main() -> None:
    """Execute the task in the environment variable TASK."""
    run_rank(measure)


def measure(task: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Return the median seconds of a step, by collective and scaling."""
    world = dist.get_world_size()
    hosts = hosts_of(world, world // task["ranks_per_host"])
    plans = {"torus": torus.plan(hosts), "ring": ring.plan(hosts)}
    shares = {"weak": 1.0, "strong": 1.0 / world}
    found: dict[str, dict[str, float]] = {}
    for name, plan in plans.items():
        allreduce = make_allreduce(plan, chunks=plan.chunks)
        x_N = torch.zeros(task["bytes"] // 4)
        step_s(allreduce, x_N, 0.0)  # connects
        found[name] = {
            scaling: median(step_s(allreduce, x_N, task["compute_s"] * share) for _ in range(task["steps"]))
            for scaling, share in shares.items()
        }
    return found


def step_s(allreduce: Allreduce, x_N: torch.Tensor, compute_s: float) -> float:
    """Return the seconds of the slowest rank's step."""
    dist.barrier()
    started = time.perf_counter()
    time.sleep(compute_s)
    allreduce(x_N)
    spent_s = torch.tensor([time.perf_counter() - started], dtype=torch.float64)
    dist.all_reduce(spent_s, dist.ReduceOp.MAX)
    return float(spent_s)
