"""The 2D torus (Mikami et al., 2018) from the backend's own collectives on row and column groups: for NCCL.

Scatter along the row, sum along the column, gather along the row: three calls that the backend runs on its own streams.
"""

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.allreduce import Allreduce


def native_torus(*, rows: int) -> Allreduce:
    """Bind the torus over all ranks, laid out row by row; every rank calls this together, as it makes the groups."""
    rank, width = dist.get_rank(), dist.get_world_size() // rows
    row = column = None
    for number in range(rows):
        made = dist.new_group(list(range(number * width, (number + 1) * width)))
        row = made if rank // width == number else row
    for number in range(width):
        made = dist.new_group(list(range(number, rows * width, width)))
        column = made if rank % width == number else column

    @torch.no_grad()
    def allreduce(x_N: Tensor) -> None:
        whole = x_N.numel() // width * width
        padded_N = x_N if whole == x_N.numel() else torch.nn.functional.pad(x_N, (0, width - x_N.numel() + whole))
        part_n = padded_N.new_empty(padded_N.numel() // width)
        dist.reduce_scatter_tensor(part_n, padded_N, group=row)
        dist.all_reduce(part_n, group=column)
        dist.all_gather_into_tensor(padded_N, part_n, group=row)
        if padded_N is not x_N:
            x_N.copy_(padded_N[: x_N.numel()])

    return allreduce
