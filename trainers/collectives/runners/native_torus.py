"""The 2D torus (Mikami et al., 2018) by the backend's collectives on row and column groups: for NCCL.

An all-reduce is three calls of the backend: reduce-scatter in the row, all-reduce in the column, all-gather in the row.
"""

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.allreduce import Allreduce


def native_torus(*, rows: int) -> Allreduce:
    """Return the torus all-reduce over all ranks, numbered row by row; all ranks call this together.

    The call creates a process group for every row and column.
    """
    rank, width = dist.get_rank(), dist.get_world_size() // rows
    row = column = None
    for number in range(rows):
        group = dist.new_group(list(range(number * width, (number + 1) * width)))
        row = group if rank // width == number else row
    for number in range(width):
        group = dist.new_group(list(range(number, rows * width, width)))
        column = group if rank % width == number else column

    @torch.no_grad()
    def allreduce(x_N: Tensor) -> None:
        divisible = x_N.numel() // width * width
        padding = width - x_N.numel() + divisible
        padded_N = x_N if divisible == x_N.numel() else torch.nn.functional.pad(x_N, (0, padding))
        part_n = padded_N.new_empty(padded_N.numel() // width)
        dist.reduce_scatter_tensor(part_n, padded_N, group=row)
        dist.all_reduce(part_n, group=column)
        dist.all_gather_into_tensor(padded_N, part_n, group=row)
        if padded_N is not x_N:
            x_N.copy_(padded_N[: x_N.numel()])

    return allreduce
