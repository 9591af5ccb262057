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

from benchmarks.algorithms import Algorithm, algorithms
from trainers.collectives import links
from trainers.collectives.layout import hosts_of
from trainers.collectives.runner import Allreduce
from trainers.collectives.wire.meshes import mesh_of

LONG_S = 9.0


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
    """Time every algorithm on vectors of this size: all of them once, then all again, so that noise meets all alike."""
    seconds = {name: [timed(one.allreduce, nbytes)] for name, one in chosen.items()}
    times = {name: how_often(nbytes, repeats, first_s) for name, (first_s,) in seconds.items()}
    for repeat in range(1, max(times.values())):
        for name, one in chosen.items():
            if repeat < times[name]:
                seconds[name].append(timed(one.allreduce, nbytes))
    rows = []
    for name, all_s in seconds.items():
        spent_s = sorted(all_s if nbytes >> 26 else all_s[1:])  # small vectors connect and warm up
        predicted_s = chosen[name].predicted_s(nbytes)
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
    """Four times as often up to 1 MiB, three times from 64 MiB, once what takes long there."""
    if nbytes >> 26:
        return 1 if first_s > LONG_S else min(repeats, 3)
    return 1 + (4 * repeats if nbytes <= 1 << 20 else repeats)


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
