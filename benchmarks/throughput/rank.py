"""One rank of the throughput benchmark: time steps of the engine and of plain PyTorch; rank 0 prints the result."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import FileStore  # type: ignore[attr-defined]
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

from benchmarks.throughput.roofline import classify, cost, rates
from contract.folder.run_folder import RunFolder
from contract.spec.choices.data import Synthetic
from contract.spec.run import RunSpec
from trainers.build import data, models
from trainers.data.split import DeviceBatch
from trainers.progress.reporter import Reporter
from trainers.ranks import device as devices
from trainers.ranks import rank_info as rank_infos
from trainers.ranks.freed_memory import reuse_freed_memory
from trainers.training.engine import make_loop

RESIDENT_BATCHES = 4  # on a GPU, for both loops
# approximate time of a block, which has at least one step; a GPU idles at a block's start until the host is ahead
BLOCK_S = {"cpu": 0.25, "cuda": 1.0}
Steps = Callable[[int], None]  # runs the given number of steps


def main() -> None:
    """Execute the task in the environment variable TASK."""
    task = json.loads(os.environ["TASK"])
    reuse_freed_memory()  # as a run's rank does; plain PyTorch gains as much here, and would not by itself
    rank_info = rank_infos.local_rank_info(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    device = devices.select_device(rank_info)
    backend = "nccl" if device.type == "cuda" else "gloo"
    store = FileStore(os.environ["STORE"], rank_info.world)
    dist.init_process_group(backend, store=store, rank=rank_info.rank, world_size=rank_info.world)
    run = RunSpec.model_validate(task["run"])
    with tempfile.TemporaryDirectory() as folder:
        report = Reporter(RunFolder(Path(folder)), 1, rank=rank_info.rank)
        variants = {
            "ours": engine_steps(run, rank_info, device, report),
            "plain": plain_steps(run, rank_info, device),
            "plain fused": plain_steps(run, rank_info, device, fused=True),
        }
        seconds = compare(variants, span_s=task["span_s"], device=device)
    found: dict[str, Any] = {"device": devices.device_name(device), "seconds": seconds}
    if rank_info.rank == 0 and device.type == "cuda":
        assert isinstance(run.data, Synthetic)
        images_per_s = run.batch / rank_info.world / min(seconds["ours"])
        with torch.device("meta"):
            costs = cost(models.build_image_model(run.model, run.data.shape[0], run.data.classes), *run.data.shape[:2])
        found["roofline"] = classify(images_per_s, costs, rates(device))
    if rank_info.rank == 0:
        print(json.dumps(found), flush=True)
    dist.destroy_process_group()


def engine_steps(run: RunSpec, rank_info: rank_infos.RankInfo, device: torch.device, report: Reporter) -> Steps:
    """Return the engine's steps, with time measurement and report, and on CPUs with input."""
    training = make_loop(run, rank_info, device=device, report=report)
    start = run.batch_schedule.position(0)
    batches: Iterator[DeviceBatch] = training.feed.epoch_batches(start)
    if device.type == "cuda":
        batches = cycle(list(islice(batches, RESIDENT_BATCHES)))

    def take(steps: int) -> None:
        for _ in range(steps):
            training.take_step(batches, start)

    return take


def plain_steps(
    run: RunSpec, rank_info: rank_infos.RankInfo, device: torch.device, *, fused: bool | None = None
) -> Steps:
    """Return plain PyTorch's steps: the same net, torch.optim.SGD, and DistributedDataParallel from two ranks on.

    `fused` is torch.optim.SGD's; its default on a CPU is a loop over the tensors, on a GPU few kernels for all tensors.
    """
    layout = torch.channels_last if run.channels_last else torch.contiguous_format
    net = models.build_model(run).to(device).to(memory_format=layout)  # type: ignore[call-overload]
    if run.compile:
        net.compile()
    passes = partial(torch.autocast, device.type, torch.bfloat16, enabled=run.precision == "bfloat16")
    wrapped = DistributedDataParallel(net) if rank_info.world > 1 else net
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-4, fused=fused)
    train, _ = data.build_data(run.data, run.seed)
    share = run.batch // rank_info.world

    def inputs(steps: int) -> Iterator[tuple[Tensor, Tensor]]:
        for index_B in torch.randperm(run.batch * steps).view(steps, -1)[:, :share]:
            images_BCHW, y_B = train.batch(index_B)
            assert isinstance(images_BCHW, Tensor)
            yield images_BCHW.to(device, memory_format=layout), y_B.to(device)

    resident = cycle(list(inputs(RESIDENT_BATCHES))) if device.type == "cuda" else None

    def take(steps: int) -> None:
        for x_BCHW, y_B in islice(resident, steps) if resident else inputs(steps):
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


def compare(variants: dict[str, Steps], *, span_s: float, device: torch.device) -> dict[str, list[float]]:
    """Return the seconds per step of the slowest rank, in rounds with alternating order."""
    steps_s = {name: warm_up(run_steps, device) for name, run_steps in variants.items()}
    steps = {name: max(1, round(BLOCK_S[device.type] / step_s)) for name, step_s in steps_s.items()}
    rounds = max(1, round(span_s / sum(steps[name] * steps_s[name] for name in variants)))
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for number in range(rounds):
        for name in sorted(variants, reverse=number % 2 == 1):
            seconds[name].append(time_steps(variants[name], steps[name], device))
    return seconds


def warm_up(run_steps: Steps, device: torch.device) -> float:
    """Warm up and return the approximate seconds per step, the same on every rank."""
    time_steps(run_steps, 2, device)
    return time_steps(run_steps, 2, device)


def time_steps(run_steps: Steps, steps: int, device: torch.device) -> float:
    """Return the seconds per step of the slowest rank."""
    dist.barrier()
    began = time.perf_counter()
    run_steps(steps)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    spent_s = torch.tensor([(time.perf_counter() - began) / steps], dtype=torch.float64, device=device)
    dist.all_reduce(spent_s, dist.ReduceOp.MAX)
    return spent_s.item()
