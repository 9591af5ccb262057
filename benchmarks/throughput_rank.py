"""One rank of the throughput benchmark: our step and plain PyTorch's in turn, and rank 0 says how long each took."""

import json
import os
import tempfile
import time
from collections.abc import Callable
from itertools import repeat
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed import FileStore  # type: ignore[attr-defined]
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from contract.folder import RunFolder
from contract.spec import RunSpec
from trainers import device as devices
from trainers import place as places
from trainers.build import data, models
from trainers.data.split import to_device
from trainers.engine import loop
from trainers.report import Report

BLOCK_S = 0.5  # what a turn lasts about; a turn has one step at least
Turn = Callable[[], None]  # one step


def main() -> None:
    """Carry out the task that the environment holds."""
    task = json.loads(os.environ["TASK"])
    place = places.here(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    device = devices.take(place)
    backend = "nccl" if device.type == "cuda" else "gloo"
    store = FileStore(os.environ["STORE"], place.world)
    dist.init_process_group(backend, store=store, rank=place.rank, world_size=place.world)
    run = RunSpec.model_validate(task["run"])
    with tempfile.TemporaryDirectory() as folder:
        report = Report(RunFolder(Path(folder)), 1, rank=place.rank)
        turns = {"ours": ours(run, place, device, report), "plain": plain(run, place, device)}
        seconds = compare(turns, rounds=task["rounds"], device=device)
    if place.rank == 0:
        print(json.dumps({"device": devices.name(device), "seconds": seconds}), flush=True)
    dist.destroy_process_group()


def ours(run: RunSpec, place: places.Place, device: torch.device, report: Report) -> Turn:
    """The engine's whole step, watch and report included, on one batch that lies ready."""
    mine = loop(run, place, device=device, report=report)
    start = run.course.position(0)
    batches = repeat(next(mine.feed.epoch(start)))

    def step() -> None:
        mine.take(batches, start)

    return step


def plain(run: RunSpec, place: places.Place, device: torch.device) -> Turn:
    """What a user would write: the same net, torch.optim.SGD, and from two ranks on DistributedDataParallel."""
    net = models.model(run).to(device)
    wrapped = DistributedDataParallel(net) if place.world > 1 else net
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4)
    train, _ = data.data(run.data, run.seed)
    share = run.batch // place.world
    (x_BCHW,), y_B = to_device(train.batch(torch.arange(share) + place.rank * share), device)

    def step() -> None:
        optimizer.zero_grad()
        output = wrapped(x_BCHW)
        logits_BK, *auxiliary = output if isinstance(output, tuple) else (output,)
        loss = cross_entropy(logits_BK, y_B)
        for aux_BK in auxiliary:
            loss = loss + 0.3 * cross_entropy(aux_BK, y_B)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def compare(turns: dict[str, Turn], *, rounds: int, device: torch.device) -> dict[str, list[float]]:
    """Seconds per step of the slowest rank: all in turn, as many times as `rounds` says, now these first, now those."""
    steps = {name: block(turn, device) for name, turn in turns.items()}
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    for number in range(rounds):
        for name in sorted(turns, reverse=number % 2 == 1):
            seconds[name].append(timed(turns[name], steps[name], device))
    return seconds


def block(turn: Turn, device: torch.device) -> int:
    """Warm up, and return how many steps last BLOCK_S; the same on every rank."""
    timed(turn, 2, device)
    return max(1, round(BLOCK_S / timed(turn, 2, device)))


def timed(turn: Turn, steps: int, device: torch.device) -> float:
    """Return the seconds that a step took the slowest rank."""
    dist.barrier()
    began = time.perf_counter()
    for _ in range(steps):
        turn()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    spent_s = torch.tensor([(time.perf_counter() - began) / steps], dtype=torch.float64, device=device)
    dist.all_reduce(spent_s, dist.ReduceOp.MAX)
    return spent_s.item()


if __name__ == "__main__":
    main()
