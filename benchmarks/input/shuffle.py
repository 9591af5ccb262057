"""The seconds of the in-memory shuffle: `make bench NAME=input.shuffle`, about a minute.

First the bookkeeping of one rank and epoch, in CPU seconds, for ImageNet's 1,281,167 samples on 2 to 2,048 ranks. Then
the whole shuffle on real processes of this machine: samples of 10 to 20 kB on 2 and 4 ranks, with the share of the
bookkeeping and of the copies and the all-to-all. Kumar et al. (2017, table 2) shuffle ImageNet within a group in
4.2 s; their network and this machine's memory are not comparable, so only the shares and the growth are claims.
"""

import json
import os
import platform
import tempfile
import time
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import FileStore  # type: ignore[attr-defined]

from trainers.data.memory_store.assignment import Assignment, assign_samples
from trainers.data.memory_store.exchange import Exchange
from trainers.data.sampler import permutation, shares

IMAGENET, BATCH_PER_RANK = 1_281_167, 32
WORLDS = (2, 16, 64, 256, 1024, 2048)
SAMPLES, SHORTEST, LONGEST = 40_000, 10_000, 20_000  # of the whole shuffle
TARGET_S = 1.0
RESULT = Path(__file__).parent.parent / "results" / "shuffle.json"


def main() -> None:
    """Measure the bookkeeping and the whole shuffle, print both and write the report."""
    torch.set_num_threads(1)
    bookkeeping = [{"ranks": world, "cpu_s": bookkeeping_s(world)} for world in WORLDS]
    for row in bookkeeping:
        print(f"bookkeeping of a rank, {row['ranks']:5} ranks: {row['cpu_s']:.3f} CPU s (target {TARGET_S} at 256)")
    whole = [shuffle_on(world) for world in (2, 4)]
    for row in whole:
        print(
            f"shuffle on {row['ranks']} ranks: {row['bytes'] / 1e6:.0f} MB a rank in {row['wall_s']:.2f} s, "
            f"{row['cpu_s']:.2f} CPU s, of these {row['bookkeeping_cpu_s']:.3f} bookkeeping"
        )
    machine = {"machine": platform.machine(), "cores": os.cpu_count(), "load": os.getloadavg()[0]}
    versions = {"torch": version("torch"), "python": platform.python_version()}
    setting = {"samples": IMAGENET, "batch_per_rank": BATCH_PER_RANK, "shuffled": [SAMPLES, SHORTEST, LONGEST]}
    report = {"machine": machine, "versions": versions, "setting": setting, "bookkeeping": bookkeeping, "whole": whole}
    RESULT.write_text(json.dumps(report, indent=1) + "\n")


def assign(samples: int, world: int, epoch: int) -> Assignment:
    """Return the samples of every rank in an epoch."""
    order_N = permutation(samples, seed=0, epoch=epoch)
    used_RTS = shares(order_N, world * BATCH_PER_RANK, ranks=range(world), world=world)
    return assign_samples(used_RTS.flatten(1).unbind(), samples=samples, epoch=epoch)


def bookkeeping_s(world: int) -> float:
    """Return the CPU seconds in which rank 0 finds out what it sends and receives before an epoch."""
    length_N, before = random_lengths(IMAGENET), assign(IMAGENET, world, 0)
    start_s = time.process_time()
    Exchange(before, assign(IMAGENET, world, 1), length_N, me=0)
    return time.process_time() - start_s


def random_lengths(samples: int) -> Tensor:
    """Return the bytes of every sample."""
    return torch.randint(SHORTEST, LONGEST, (samples,), generator=torch.Generator().manual_seed(0))


def shuffle_on(world: int) -> dict[str, Any]:
    """Shuffle once on `world` processes; return the figures of the slowest rank."""
    context = get_context("forkserver")
    with tempfile.TemporaryDirectory() as folder:
        results = context.SimpleQueue()
        ranks = [context.Process(target=shuffle, args=(r, world, f"{folder}/store", results)) for r in range(world)]
        for process in ranks:
            process.start()
        rows = [results.get() for _ in ranks]
        for process in ranks:
            process.join()
    return max(rows, key=lambda row: row["wall_s"])


def shuffle(rank: int, world: int, store: str, results: Any) -> None:
    """Put the figures of this rank's shuffle into `results`."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=FileStore(store, world), rank=rank, world_size=world)
    length_N, before = random_lengths(SAMPLES), assign(SAMPLES, world, 0)
    blob = torch.ones(int(length_N[before[rank]].sum()), dtype=torch.uint8)
    dist.barrier()
    start_s, start_cpu_s = time.perf_counter(), time.process_time()
    exchange = Exchange(before, assign(SAMPLES, world, 1), length_N, me=rank)
    known_cpu_s = time.process_time()
    exchange.run(blob, torch.empty(exchange.new_bytes, dtype=torch.uint8))
    times = {"wall_s": time.perf_counter() - start_s, "cpu_s": time.process_time() - start_cpu_s}
    results.put({"ranks": world, "bytes": len(blob), **times, "bookkeeping_cpu_s": known_cpu_s - start_cpu_s})
    dist.barrier()


if __name__ == "__main__":
    main()
