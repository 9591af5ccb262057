"""ProcessorCosts: how fast a rank copies and adds, and how many ranks of a host can work at the same time."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

WINDOW_S = 0.03
SPAN_BYTES = 16 << 20  # more than a cache holds, as with gradients
PIECE_BYTES = 256 << 10  # of one copy or addition


@dataclass(frozen=True)
class ProcessorCosts:
    """The costs of one rank that has a core for itself; `cores` is of its host."""

    message_s: float  # for each message that the rank sends or receives
    copy_rate: float  # bytes/s
    add_rate: float  # bytes/s
    cores: float  # how many ranks of the host can work at the same time


def measure_processor(hosts: int, *, message_s: float, group: dist.ProcessGroup | None = None) -> ProcessorCosts:
    """Measure on the first rank alone, then on all ranks at once; all ranks of the group call this together."""
    target_N, source_N = torch.ones(SPAN_BYTES // 4), torch.ones(SPAN_BYTES // 4)  # ones() touches all pages first
    is_first = dist.get_rank(group) == 0
    operations = (Tensor.copy_, Tensor.add_)
    alone = [max(_rate(run, target_N, source_N) for _ in range(3)) if is_first else 0.0 for run in operations]
    dist.barrier(group)
    at_once = _rate(Tensor.copy_, target_N, source_N)
    sums = torch.tensor([*alone, at_once], dtype=torch.float64)
    dist.all_reduce(sums, group=group)
    copy_rate, add_rate, copy_rate_of_all = sums.tolist()
    cores = min(copy_rate_of_all / copy_rate, dist.get_world_size(group)) / hosts
    return ProcessorCosts(message_s, copy_rate, add_rate, cores=cores)


def _rate(run: Callable[[Tensor, Tensor], Tensor], target_N: Tensor, source_N: Tensor) -> float:
    """Return the bytes/s of `run`, piece by piece."""
    pieces = list(zip(*(torch.split(x_N, PIECE_BYTES // 4) for x_N in (target_N, source_N)), strict=True))
    started_s, count = time.perf_counter(), 0
    while (spent_s := time.perf_counter() - started_s) < WINDOW_S:
        run(*pieces[count % len(pieces)])
        count += 1
    return count * PIECE_BYTES / spent_s
