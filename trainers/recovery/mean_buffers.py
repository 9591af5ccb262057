"""The mean of the batch norm statistics of a checkpoint's ranks, for a world of another size."""

from collections.abc import Mapping, Sequence

import torch
import torch.distributed as dist
from torch import Tensor


@torch.no_grad()
def mean_buffers(like: Mapping[str, Tensor], read: Sequence[Mapping[str, Tensor]], *, world: int) -> dict[str, Tensor]:
    """Return the mean of every buffer over the `world` ranks of a checkpoint; all ranks call this together.

    like: this rank's buffers, for names and shapes; read: the saved buffers that this rank has read, on rank 0 those of
    the saved rank 0 first. An integer buffer, which counts, is that of the saved rank 0.
    """
    sums = {name: torch.zeros(buffer.shape, dtype=torch.float64) for name, buffer in like.items()}
    for number, saved in enumerate(read):
        for name, total in sums.items():
            if like[name].is_floating_point():
                total += saved[name].double()
            elif number == 0 and dist.get_rank() == 0:
                total += saved[name].double() * world
    if sums:
        flat_N = torch.cat([total.flatten() for total in sums.values()])
        dist.all_reduce(flat_N)
        parts = torch.split(flat_N / world, [total.numel() for total in sums.values()])
        sums = {name: part.view(sums[name].shape) for name, part in zip(sums, parts, strict=True)}
    return {name: total.to(like[name].dtype) for name, total in sums.items()}
