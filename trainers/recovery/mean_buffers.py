"""The buffers of a checkpoint's ranks as one, for a world of another size: the mean of statistics, else rank 0's."""

import io
from collections.abc import Collection, Mapping, Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.bytes_broadcast import broadcast_bytes
from trainers.collectives.exact_mean import mean_of_parts, to_parts


@torch.no_grad()
def mean_buffers(
    like: Mapping[str, Tensor], read: Sequence[Mapping[str, Tensor]], *, statistics: Collection[str], world: int
) -> dict[str, Tensor]:
    """Return the buffers of the `world` ranks of a checkpoint as those of one; all ranks call this together.

    like: this rank's buffers, for names and shapes; statistics: the names of those that become the mean over the ranks,
    in float64. All others become those of the saved rank 0. read: the saved buffers that this rank has read, on rank 0
    those of the saved rank 0 first.
    """
    averaged = [name for name in like if name in statistics]
    others = [name for name in like if name not in statistics]
    return _means(averaged, like, read, world) | of_rank_0(others, read)


def _means(
    names: Sequence[str], like: Mapping[str, Tensor], read: Sequence[Mapping[str, Tensor]], world: int
) -> dict[str, Tensor]:
    if not names:
        return {}
    sizes = [like[name].numel() for name in names]
    sum_2N = torch.zeros(2, sum(sizes), dtype=torch.float64)
    for saved in read:
        sum_2N += torch.cat([to_parts(saved[name].flatten()) for name in names], dim=1)
    dist.all_reduce(sum_2N)
    means = torch.split(mean_of_parts(sum_2N, world), sizes)
    return {name: mean.view(like[name].shape) for name, mean in zip(names, means, strict=True)}


def of_rank_0(names: Sequence[str], read: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the buffers with these names of the first of rank 0's `read`, on all ranks, which call this together."""
    if not names:
        return {}

    def write() -> io.BytesIO:
        content = io.BytesIO()
        torch.save({name: read[0][name] for name in names}, content)
        content.seek(0)
        return content

    found: dict[str, Tensor] = torch.load(broadcast_bytes(write), map_location="cpu", weights_only=True)
    return found
