"""One rank of the throughput benchmark: our step and plain PyTorch's in turn, and rank 0 says how long each took."""

import json
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed import FileStore  # type: ignore[attr-defined]
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from benchmarks.throughput.roofline import cost, judge, rates
from contract.folder.run_folder import RunFolder
from contract.spec.choices.data import Synthetic
from contract.spec.run import RunSpec
from trainers.build import data, models
from trainers.progress.reporter import Report
from trainers.ranks import device as devices
from trainers.ranks import rank_info as places
from trainers.training.engine import loop

BLOCK_S = 0.25  # what a turn lasts about; a turn has one step at least
Turn = Callable[[int], None]  # takes so many steps


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
        compiled = bool(task["compiled"])
        turns = {
            "ours": ours(run, place, device, report, compiled=compiled),
            "plain": plain(run, place, device, compiled=compiled),
        }
        seconds = compare(turns, span_s=task["span_s"], device=device)
    found: dict[str, Any] = {"device": devices.name(device), "seconds": seconds}
    if place.rank == 0 and device.type == "cuda":
        assert isinstance(run.data, Synthetic)
        images_per_s = run.batch / place.world / min(seconds["ours"])
        with torch.device("meta"):
            costs = cost(models.net(run.model, run.data.shape[0], run.data.classes), *run.data.shape[:2])
        found |= judge(images_per_s, costs, rates(device))
    if place.rank == 0:
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


def ours(run: RunSpec, place: places.Place, device: torch.device, report: Report, *, compiled: bool) -> Turn:
    """The engine's steps as they are, input, time split and report included."""
    mine = loop(run, place, device=device, report=report)
    start = run.course.position(0)
    batches = mine.feed.epoch(start)
    if compiled:
        mine.state.model.compile()  # in its place: the parameters stay those of the rule and the optimizer

    def take(steps: int) -> None:
        for _ in range(steps):
            mine.take(batches, start)

    return take


def plain(run: RunSpec, place: places.Place, device: torch.device, *, compiled: bool) -> Turn:
    """What a user would write: the same net, torch.optim.SGD, and from two ranks on DistributedDataParallel."""
    layout = torch.channels_last if run.channels_last else torch.contiguous_format
    net = models.model(run).to(device).to(memory_format=layout)  # type: ignore[call-overload]
    if compiled:
        net.compile()
    passes = partial(torch.autocast, device.type, torch.bfloat16, enabled=run.precision == "bfloat16")
    wrapped = DistributedDataParallel(net) if place.world > 1 else net
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4)
    train, _ = data.data(run.data, run.seed)
    share = run.batch // place.world

    def take(steps: int) -> None:
        for index_B in torch.randperm(run.batch * steps).view(steps, -1)[:, :share]:
            images_BCHW, y_B = train.batch(index_B)
            assert isinstance(images_BCHW, torch.Tensor)
            x_BCHW, y_B = images_BCHW.to(device, memory_format=layout), y_B.to(device)
            optimizer.zero_grad()
            with passes():
                output = wrapped(x_BCHW)
                logits_BK, *auxiliary = output if isinstance(output, tuple) else (output,)
                loss = cross_entropy(logits_BK, y_B)
                for aux_BK in auxiliary:
                    loss = loss + 0.3 * cross_entropy(aux_BK, y_B)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()

    return take


def compare(turns: dict[str, Turn], *, span_s: float, device: torch.device) -> dict[str, list[float]]:
    """Seconds per step of the slowest rank: all in turn, round after round, now these first, now those."""
    steps_s = {name: warm(turn, device) for name, turn in turns.items()}
    steps = {name: max(1, round(BLOCK_S / step_s)) for name, step_s in steps_s.items()}
    rounds = max(1, round(span_s / sum(steps[name] * steps_s[name] for name in turns)))
    seconds: dict[str, list[float]] = {name: [] for name in turns}
    for number in range(rounds):
        for name in sorted(turns, reverse=number % 2 == 1):
            seconds[name].append(timed(turns[name], steps[name], device))
    return seconds


def warm(turn: Turn, device: torch.device) -> float:
    """Warm up, and return about how many seconds a step takes; the same on every rank."""
    timed(turn, 2, device)
    return timed(turn, 2, device)


def timed(turn: Turn, steps: int, device: torch.device) -> float:
    """Return the seconds that a step took the slowest rank."""
    dist.barrier()
    began = time.perf_counter()
    turn(steps)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    spent_s = torch.tensor([(time.perf_counter() - began) / steps], dtype=torch.float64, device=device)
    dist.all_reduce(spent_s, dist.ReduceOp.MAX)
    return spent_s.item()


if __name__ == "__main__":
    main()
