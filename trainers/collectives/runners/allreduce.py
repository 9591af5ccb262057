"""Carry a plan out on this rank: the one door from rounds to bytes.

Chunk c of a segment of N elements is x[c N // chunks : (c + 1) N // chunks]: no padding, and chunks may be empty.
On CPUs the segments go through the ranks' own connections and, within a host, through shared memory (passage.py);
on GPUs each round is one group of the backend's messages (exchange.py).
"""

from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.plan import Round
from trainers.collectives.runners.p2p_allreduce import exchange
from trainers.collectives.runners.pipelined_allreduce import Passage
from trainers.collectives.runners.rank_schedule import turns
from trainers.collectives.runners.segments import lengths
from trainers.collectives.wire.connections import Mesh
from trainers.collectives.wire.group_connections import mesh_of

Allreduce = Callable[[Tensor], None]  # sums a flat vector over all ranks, in place
TIMEOUT_S = 300.0


def follow(
    rounds: Iterable[Round],
    *,
    chunks: int,
    group: dist.ProcessGroup | None = None,
    mesh: Mesh | None = None,
    wire: torch.dtype | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Allreduce:
    """Bind a plan over all ranks of `group` to this rank.

    `mesh`: the connections to use, for a caller who sums in a thread of its own; else the group's.
    `wire`: a 16-bit type in which float32 parts travel; they are summed in float32, and the sum is rounded to the type.
    `timeout_s`: without a byte moved for so long, the call ends with RankLost.
    """
    mine = turns(rounds, dist.get_rank(group))

    @torch.no_grad()
    def allreduce(x_N: Tensor) -> None:
        if x_N.ndim != 1 or not x_N.is_contiguous():
            raise ValueError(f"a plan sums a flat, contiguous vector, not one of shape {tuple(x_N.shape)}")
        if x_N.device.type != "cpu":
            exchange(x_N, mine, chunks=chunks, group=group)
            return
        lines = mesh or mesh_of(group)
        lines.link({message.peer for turn in mine for message in (*turn.sends, *turn.receives)}, timeout_s=timeout_s)
        narrow = wire if x_N.dtype == torch.float32 else None
        # a rank that a plan leaves out counts the segments all the same
        parts = list(torch.split(x_N, lengths(x_N.numel(), x_N.element_size()))) if x_N.numel() else []
        Passage(parts, mine, chunks=chunks, mesh=lines, wire=narrow).run(timeout_s=timeout_s)
        if narrow is not None:
            x_N.copy_(x_N.to(narrow))

    return allreduce
