"""One rank of the shuffle benchmark: shuffle its samples with the other ranks; rank 0 prints the median seconds."""

import time
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from benchmarks.input.shuffle import assign
from benchmarks.rank_group import run_rank
from trainers.data.memory_store.exchange import Exchange


def main() -> None:
    """Execute the task in the environment variable TASK."""
    run_rank(measure)


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Return the medians of the seconds and of the bytes of the busiest rank."""
    rank, world = dist.get_rank(), dist.get_world_size()
    random = torch.Generator().manual_seed(0)
    length_N = torch.randint(task["shortest"], task["longest"], (task["samples"],), generator=random)
    before = assign(task["samples"], world, 0)
    blob = contents(before[rank], length_N)
    seconds, bookkeeping_s, busiest = list[float](), list[float](), list[float]()
    for epoch in range(1, task["repeats"] + 2):  # the first connects the ranks
        dist.barrier()
        started = time.perf_counter()
        after = assign(task["samples"], world, epoch)
        exchange = Exchange(before, after, length_N, me=rank)
        known = time.perf_counter()
        new = torch.empty(exchange.new_bytes, dtype=torch.uint8)
        exchange.run(blob, new)
        ended = time.perf_counter()
        assert torch.equal(new, contents(after[rank], length_N)), "a sample arrived with other bytes"
        stay_N = torch.isin(before[rank], after[rank])
        leaving = float(length_N[before[rank][~stay_N]].sum())
        arriving = float(length_N[after[rank][~torch.isin(after[rank], before[rank])]].sum())
        slowest = torch.tensor([ended - started, known - started, max(leaving, arriving)], dtype=torch.float64)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        for column, value in zip((seconds, bookkeeping_s, busiest), slowest.tolist(), strict=True):
            column.append(value)
        before, blob = after, new
    found = {"seconds": median(seconds[1:]), "bookkeeping_s": median(bookkeeping_s[1:]), "calls_s": seconds[1:]}
    return {"bytes": int(length_N.sum()), "busiest_bytes": median(busiest[1:]), **found}


def contents(number_S: torch.Tensor, length_N: torch.Tensor) -> torch.Tensor:
    """Return the bytes of these samples, one after the other: every sample has a byte of its own."""
    return (number_S % 251).to(torch.uint8).repeat_interleave(length_N[number_S])
