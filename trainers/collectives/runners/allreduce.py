"""Allreduce functions that run a plan on this rank.

Chunk c of a segment of N elements is x[c N // chunks : (c + 1) N // chunks]: no padding; chunks may be empty. On CPUs
the segments travel through the ranks' own connections and, within a host, through shared memory
(pipelined_allreduce.py). On GPUs they travel by the backend's point-to-point messages (p2p_allreduce.py).
"""

from collections.abc import Callable, Iterable

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.plan import Plan, Round
from trainers.collectives.runners.p2p_allreduce import p2p_allreduce
from trainers.collectives.runners.pipelined_allreduce import PipelinedAllreduce
from trainers.collectives.runners.rank_schedule import rank_schedule
from trainers.collectives.runners.segments import segment_lengths
from trainers.collectives.wire.connections import Connections
from trainers.collectives.wire.group_connections import connections_of

Allreduce = Callable[[Tensor], None]  # sums a flat vector over all ranks, in place
TIMEOUT_S = 300.0


def make_allreduce(
    rounds: Iterable[Round],
    *,
    chunks: int,
    group: dist.ProcessGroup | None = None,
    connections: Connections | None = None,
    wire: torch.dtype | None = None,
    timeout_s: float = TIMEOUT_S,
) -> Allreduce:
    """Return the all-reduce that runs a plan over all ranks of `group`.

    `connections`: for a caller that sums in a separate thread; the default is the group's shared connections.
    `wire`: a 16-bit type for float32 parts between ranks; ranks add in float32 and round the sum to the type.
    `timeout_s`: the call raises RankLost after so long without a transferred byte; on GPUs `group` has the timeout.
    """
    rank = dist.get_rank(group)
    schedule = rank_schedule(rounds.rounds_of(rank) if isinstance(rounds, Plan) else rounds, rank)
    peers = {message.peer for round_ in schedule for message in (*round_.sends, *round_.receives)}

    @torch.no_grad()
    def allreduce(x_N: Tensor) -> None:
        if x_N.ndim != 1 or not x_N.is_contiguous():
            shape, stride = tuple(x_N.shape), x_N.stride()
            raise ValueError(
                f"an all-reduce needs a flat, contiguous vector, but the shape is {shape}, stride {stride}"
            )
        if x_N.device.type != "cpu":
            p2p_allreduce(x_N, schedule, chunks=chunks, group=group, wire=wire)
            return
        using = connections or connections_of(group)
        using.connect(peers, timeout_s=timeout_s)
        narrow = wire if x_N.dtype == torch.float32 else None
        # also a rank without messages runs this, because all ranks must count the same segments
        parts = list(torch.split(x_N, segment_lengths(x_N.numel(), x_N.element_size()))) if x_N.numel() else []
        once = PipelinedAllreduce(parts, schedule, chunks=chunks, connections=using, wire=narrow)
        once.run(timeout_s=timeout_s)
        if narrow is not None:
            x_N.copy_(x_N.to(narrow))

    return allreduce
