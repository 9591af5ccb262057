"""One rank of the all-reduce benchmark: sums vectors by every algorithm in turn, and rank 0 says how long each took."""

import json
import os
import sys
import time
from dataclasses import asdict
from math import inf
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import FileStore  # type: ignore[attr-defined]

from benchmarks.allreduce.algorithms import Algorithm, algorithms
from trainers.collectives.layout import hosts_of
from trainers.collectives.pricing import links
from trainers.collectives.runners.allreduce import Allreduce
from trainers.collectives.wire.group_connections import mesh_of

PATIENCE_S = 14.0  # for the repeats of one algorithm on one size


def main() -> None:
    """Carry out the task that the environment holds."""
    torch.set_num_threads(1)
    task = json.loads(os.environ["TASK"])
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", store=FileStore(os.environ["STORE"], world), rank=rank, world_size=world)
    network = links.measure(mesh_of(None)).network(hosts_of(world, world // task["ranks_per_host"]))
    found = {name: value for name, value in asdict(network).items() if name != "hosts" and value != inf}
    say(f"measured: {found}")
    made = algorithms(network)
    chosen = {name: made[name] for name in task["algorithms"]}
    rows = [row for nbytes in task["sizes"] for row in sized(nbytes, task["repeats"], chosen)]
    dist.barrier()
    if rank == 0:
        print(json.dumps({"network": found, "rows": rows}), flush=True)
    dist.destroy_process_group()


def sized(nbytes: int, repeats: int, chosen: dict[str, Algorithm]) -> list[dict[str, Any]]:
    """Time every algorithm on vectors of this size, its repeats in a row, as mpirun's are.

    In turns, one would pay for what another left to the connections that they share.
    """
    rows = []
    for name, one in chosen.items():
        all_s = [timed(one.allreduce, nbytes)]
        for _ in range(how_often(nbytes, repeats, all_s[0])):
            all_s.append(timed(one.allreduce, nbytes))
        spent_s = sorted(all_s[min(len(all_s) - 1, 1 if nbytes >> 26 else 2) :])  # the first ones warmed up
        predicted_s = one.predicted_s(nbytes)
        rows.append(
            {
                "bytes": nbytes,
                "algorithm": name,
                "seconds": median(spent_s),
                "predicted_s": predicted_s,
                "fastest_s": spent_s[0],
                "repeats": len(spent_s),
            }
        )
        say(f"{nbytes / 1024:8.0f} KiB  {name:17}{median(spent_s) * 1e3:10.2f} ms, {predicted_s * 1e3:10.2f} predicted")
    return rows


def how_often(nbytes: int, repeats: int, first_s: float) -> int:
    """Four times as often up to 1 MiB, fewer times than asked for, or never again, what takes long."""
    return min(int(PATIENCE_S / first_s), 4 * repeats if nbytes <= 1 << 20 else repeats)


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


def say(what: str) -> None:
    """Tell whoever watches how far it is."""
    if dist.get_rank() == 0:
        print(f"  {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
