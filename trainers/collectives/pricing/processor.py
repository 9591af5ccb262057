"""What the ranks' own work costs: bytes copied and added per second, and how many ranks of a host work at once."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

WINDOW_S = 0.03
SPAN = 16 << 20  # bytes: more than caches hold, as gradients are
PIECE = 256 << 10  # bytes of one copy or sum


@dataclass(frozen=True)
class Work:
    """Of one rank that has a core to itself, but for `cores`."""

    message_s: float  # for each message that it sends or receives
    copy_rate: float  # bytes/s
    add_rate: float  # bytes/s
    cores: float  # of a host: so many of its ranks work at once


def work(hosts: int, *, message_s: float, group: dist.ProcessGroup | None = None) -> Work:
    """Measure, first rank by itself and then with all others; all ranks of the group call this together."""
    here_N, there_N = torch.ones(SPAN // 4), torch.ones(SPAN // 4)  # touched: the first touch of memory costs more
    is_first = dist.get_rank(group) == 0
    works = (Tensor.copy_, Tensor.add_)
    alone = [max(_rate(do, here_N, there_N) for _ in range(3)) if is_first else 0.0 for do in works]
    dist.barrier(group)
    together = _rate(Tensor.copy_, here_N, there_N)
    told = torch.tensor([*alone, together], dtype=torch.float64)
    dist.all_reduce(told, group=group)
    copy_rate, add_rate, of_all = told.tolist()
    cores = min(of_all / copy_rate, dist.get_world_size(group)) / hosts
    return Work(message_s, copy_rate, add_rate, cores=cores)


def _rate(do: Callable[[Tensor, Tensor], Tensor], here_N: Tensor, there_N: Tensor) -> float:
    """The bytes/s of `do`, piece by piece."""
    pieces = list(zip(*(torch.split(x_N, PIECE // 4) for x_N in (here_N, there_N)), strict=True))
    began_s, done = time.perf_counter(), 0
    while (spent_s := time.perf_counter() - began_s) < WINDOW_S:
        do(*pieces[done % len(pieces)])
        done += 1
    return done * PIECE / spent_s
