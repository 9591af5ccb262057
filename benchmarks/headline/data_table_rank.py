"""One rank of the data table's benchmark: steps with and without the table's parts; rank 0 prints their medians."""

import os
import time
from statistics import median
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from benchmarks.headline.cpu_quota import CpuQuota
from benchmarks.rank_group import run_rank
from trainers.collectives.layout import hosts_of
from trainers.collectives.plans import ring
from trainers.collectives.runners.allreduce import Allreduce, make_allreduce


def main() -> None:
    """Execute the task in the environment variable TASK."""
    run_rank(measure)


def measure(task: dict[str, Any]) -> list[float]:
    """Return the median seconds of a step of each case."""
    plan = ring.plan(hosts_of(dist.get_world_size(), 1))
    table = Table(task, make_allreduce(plan, chunks=plan.chunks))
    quota = CpuQuota(f"table-{os.getpid()}", task["share"])
    quota.join()
    try:
        seconds: list[list[float]] = [[] for _ in task["cases"]]
        for turn in range(task["rounds"] + 1):  # the first warms up
            for of_case, parts in zip(seconds, task["cases"], strict=True):
                spent_s = [table.step_s(parts) for _ in range(task["steps"])]
                of_case += spent_s if turn else []
    finally:
        quota.leave()
    return [median(of_case) for of_case in seconds]


class Table:
    """The data-parallel table: a replica of the net on every rank, and a batch of which every rank has a part."""

    def __init__(self, task: dict[str, Any], allreduce: Allreduce) -> None:
        self._rank, self._world, self._allreduce = dist.get_rank(), dist.get_world_size(), allreduce
        torch.manual_seed(0)
        self._net = net(task["classes"], task["pixels"])
        whole = (self._world * task["batch"], 3, task["pixels"], task["pixels"])
        self._x_BCHW, self._target_B = torch.randn(whole), torch.randint(task["classes"], whole[:1])
        self._own = slice(self._rank * task["batch"], (self._rank + 1) * task["batch"])

    def step_s(self, parts: list[str]) -> float:
        """Return the seconds of the slowest rank's step."""
        dist.barrier()
        started = time.perf_counter()
        self._step(is_staged="staged" in parts, central_loss="central_loss" in parts, is_joined="joined" in parts)
        spent_s = torch.tensor([time.perf_counter() - started], dtype=torch.float64)
        dist.all_reduce(spent_s, dist.ReduceOp.MAX)
        return float(spent_s)

    def _step(self, *, is_staged: bool, central_loss: bool, is_joined: bool) -> None:
        self._net.zero_grad(set_to_none=True)
        x_bCHW, target_b = self._scatter() if is_staged else (self._x_BCHW[self._own], self._target_B[self._own])
        output_bK = self._net(x_bCHW)
        if is_joined:
            dist.barrier()
        if central_loss:
            gradient_bK = self._gradient_from_first(output_bK.detach())
        else:
            loss = cross_entropy(output_bK, target_b, reduction="sum") / len(self._x_BCHW)
            (gradient_bK,) = torch.autograd.grad(loss, output_bK, retain_graph=True)
        if is_joined:
            dist.barrier()
        output_bK.backward(gradient_bK)
        if is_joined:
            dist.barrier()
        gradients = [p.grad.flatten() for p in self._net.parameters() if p.grad is not None]
        self._allreduce(torch.cat(gradients))

    def _scatter(self) -> tuple[Tensor, Tensor]:
        """Return this rank's samples as the first rank sends them."""
        x_bCHW, target_b = torch.empty_like(self._x_BCHW[self._own]), torch.empty_like(self._target_B[self._own])
        for into, whole in ((x_bCHW, self._x_BCHW), (target_b, self._target_B)):
            # the first rank takes the batch into memory of its own, as the table takes it to its first device
            dist.scatter(into, list(whole.clone().chunk(self._world)) if self._rank == 0 else None)
        return x_bCHW, target_b

    def _gradient_from_first(self, output_bK: Tensor) -> Tensor:
        """Return the gradient of this rank's outputs, which the first rank computes for all."""
        gathered = [torch.empty_like(output_bK) for _ in range(self._world)] if self._rank == 0 else None
        dist.gather(output_bK, gathered)
        gradients = None
        if gathered is not None:
            outputs_BK = torch.cat(gathered).requires_grad_()
            loss = cross_entropy(outputs_BK, self._target_B)
            gradients = list(torch.autograd.grad(loss, outputs_BK)[0].chunk(self._world))
        gradient_bK = torch.empty_like(output_bK)
        dist.scatter(gradient_bK, gradients)
        return gradient_bK


def net(classes: int, pixels: int) -> nn.Module:
    """Return a small convolutional net for images of `pixels` by `pixels`."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(8 if pixels >= 32 else 1),
        nn.Flatten(),
        nn.Linear(32 * (64 if pixels >= 32 else 1), classes),
    )
