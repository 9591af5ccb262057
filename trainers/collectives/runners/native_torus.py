"""The 2D torus (Mikami et al., 2018) by the backend's collectives on row and column groups: for NCCL.

An all-reduce is three calls of the backend: reduce-scatter in the row, all-reduce in the column, all-gather in the row.
With a 16-bit wire the backend would also add in 16 bits. So a sum is an exchange of 16-bit parts, all to all, which
each rank adds in float32; the bytes on the links are those of a reduce-scatter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.allreduce import TIMEOUT_S, Allreduce

Call = Callable[..., object]
# torch 2.13 renamed these
reduce_scatter: Call = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
all_gather: Call = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


@dataclass(frozen=True)
class _Line:
    """The ranks of this rank's row or column; `group` is None for a rank alone."""

    group: dist.ProcessGroup | None
    size: int
    place: int  # of this rank in the group


def native_torus(
    grid: Sequence[Sequence[int]],
    *,
    wire: torch.dtype | None = None,
    timeout_s: float = TIMEOUT_S,
    backend: str | None = None,
) -> Allreduce:
    """Return the torus all-reduce over the rows of `grid`, which have equal lengths; all ranks call this together.

    The call creates a process group for this rank's row and column. `wire`: a 16-bit type for float32 values between
    ranks, which are added in float32. `backend`: of the groups; the default is the backend of the default group.
    """
    if len({len(row) for row in grid}) != 1:
        raise ValueError(f"the rows of a torus on groups need equal lengths, not {[len(row) for row in grid]}")
    rank = dist.get_rank()
    own_row = next(list(row) for row in grid if rank in row)
    own_column = [row[own_row.index(rank)] for row in grid]
    # all ranks make the group of their row first, so no two ranks wait for each other
    row, column = (_make_line(ranks, rank, timeout_s=timeout_s, backend=backend) for ranks in (own_row, own_column))

    @torch.no_grad()
    def allreduce(x_N: Tensor) -> None:
        if not x_N.numel():
            return
        narrow = wire if x_N.dtype == torch.float32 else None
        padded_N = _padded(x_N, row.size)
        part_n = _reduce_scatter(padded_N, row, narrow)
        _allreduce(part_n, column, narrow)
        _all_gather(padded_N, part_n, row, narrow)
        if padded_N is not x_N:
            x_N.copy_(padded_N[: x_N.numel()])

    return allreduce


def _make_line(ranks: list[int], rank: int, *, timeout_s: float, backend: str | None) -> _Line:
    ranks = sorted(ranks)  # as torch numbers the ranks of a group
    group = None
    if len(ranks) > 1:
        timeout = timedelta(seconds=timeout_s)
        # of a large world every rank makes two groups, instead of the groups of all rows and columns
        group = dist.new_group(ranks, timeout=timeout, backend=backend, use_local_synchronization=True)
    return _Line(group, len(ranks), ranks.index(rank))


def _padded(x_N: Tensor, parts: int) -> Tensor:
    """Return x_N with zeros at its end, so that it divides into equal parts; x_N itself if it does already."""
    missing = -x_N.numel() % parts
    return torch.nn.functional.pad(x_N, (0, missing)) if missing else x_N


def _reduce_scatter(x_N: Tensor, line: _Line, wire: torch.dtype | None) -> Tensor:
    """Return this rank's part of the sum over the line."""
    if line.group is None:
        return x_N
    if wire is None:
        part_n = x_N.new_empty(x_N.numel() // line.size)
        reduce_scatter(part_n, x_N, group=line.group)
        return part_n
    sent_N = x_N.to(wire)
    received_N = torch.empty_like(sent_N)
    dist.all_to_all_single(received_N, sent_N, group=line.group)
    parts_Rn = received_N.view(line.size, -1).to(x_N.dtype)
    parts_Rn[line.place] = x_N.view(line.size, -1)[line.place]  # what does not travel is not rounded
    return parts_Rn.sum(0)


def _allreduce(part_n: Tensor, line: _Line, wire: torch.dtype | None) -> None:
    """Sum over the line, in place."""
    if line.group is None:
        return
    if wire is None:
        dist.all_reduce(part_n, group=line.group)
        return
    padded_n = _padded(part_n, line.size)
    _all_gather(padded_n, _reduce_scatter(padded_n, line, wire), line, wire)
    if padded_n is not part_n:
        part_n.copy_(padded_n[: part_n.numel()])


def _all_gather(x_N: Tensor, part_n: Tensor, line: _Line, wire: torch.dtype | None) -> None:
    """Fill x_N with the parts of all ranks of the line; with a wire all of them, also the own part, are rounded."""
    if line.group is None:
        x_N.copy_(part_n if wire is None else part_n.to(wire))
    elif wire is None:
        all_gather(x_N, part_n, group=line.group)
    else:
        gathered_N = torch.empty(x_N.shape, dtype=wire, device=x_N.device)
        all_gather(gathered_N, part_n.to(wire), group=line.group)
        x_N.copy_(gathered_N)
