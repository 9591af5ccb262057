"""One rank of the all-reduce benchmark: time every algorithm; rank 0 prints the rows."""

import sys
import time
from dataclasses import asdict
from math import inf
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from benchmarks.allreduce.algorithms import Algorithm, algorithms
from benchmarks.rank_group import run_rank
from trainers.collectives.layout import hosts_of
from trainers.collectives.pricing import links
from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.wire.group_connections import connections_of

MAX_S = 14.0  # for the repeats of one algorithm and size


def main() -> None:
    """Execute the task in the environment variable TASK."""
    run_rank(measure)


def measure(task: dict[str, Any]) -> dict[str, Any]:
    """Return the measured network and a row for each size and algorithm."""
    world = dist.get_world_size()
    network = links.measure(connections_of(None)).network(hosts_of(world, world // task["ranks_per_host"]))
    found = {name: value for name, value in asdict(network).items() if name != "hosts" and value != inf}
    print_progress(f"measured: {found}")
    available = algorithms(network)
    chosen = {name: available[name] for name in task["algorithms"]}
    rows = [row for nbytes in task["sizes"] for row in measure_size(nbytes, task["repeats"], chosen)]
    return {"network": found, "rows": rows}


def measure_size(nbytes: int, repeats: int, chosen: dict[str, Algorithm]) -> list[dict[str, Any]]:
    """Time every algorithm on vectors of this size, with all repeats in succession, as in the OpenMPI program.

    With interleaved repeats one algorithm would affect the shared connections of the next one.
    """
    rows = []
    for name, algorithm in chosen.items():
        all_s = [time_allreduce(algorithm.allreduce, nbytes)]
        for _ in range(count_repeats(nbytes, repeats, all_s[0])):
            all_s.append(time_allreduce(algorithm.allreduce, nbytes))
        spent_s = sorted(all_s[min(len(all_s) - 1, 1 if nbytes >> 26 else 2) :])  # without the warm-up
        predicted_s = algorithm.predicted_s(nbytes)
        rows.append(
            {
                "bytes": nbytes,
                "algorithm": name,
                "seconds": median(spent_s),
                "predicted_s": predicted_s,
                "fastest_s": spent_s[0],
                "repeats": len(spent_s),
                "calls_s": all_s,  # the warm-up included
            }
        )
        print_progress(
            f"{nbytes / 1024:8.0f} KiB  {name:17}{median(spent_s) * 1e3:10.2f} ms, {predicted_s * 1e3:10.2f} predicted"
        )
    return rows


def count_repeats(nbytes: int, repeats: int, first_s: float) -> int:
    """Return the number of repeats: four times as many up to 1 MiB, fewer if one takes long, possibly none."""
    return min(int(MAX_S / first_s), 4 * repeats if nbytes <= 1 << 20 else repeats)


def time_allreduce(allreduce: Allreduce, nbytes: int) -> float:
    """Return the seconds of the slowest rank."""
    x_N = torch.full((nbytes // 4,), float(dist.get_rank() + 1))
    dist.barrier()
    started = time.perf_counter()
    allreduce(x_N)
    spent_s = torch.tensor([time.perf_counter() - started], dtype=torch.float64)
    world = dist.get_world_size()
    assert bool((x_N == world * (world + 1) / 2).all()), "wrong sum"
    dist.all_reduce(spent_s, dist.ReduceOp.MAX)
    return float(spent_s)


def print_progress(text: str) -> None:
    """Print a line on rank 0's stderr."""
    if dist.get_rank() == 0:
        print(f"  {text}", file=sys.stderr, flush=True)
