"""Run a plan by the backend's point-to-point messages: for vectors on a GPU.

The vector is cut into segments that follow each other through the rounds: in tick t segment s is in round t - s. All
messages of a tick are one batch, so the links of row and column phases work at once. Every rank goes through the same
ticks, and orders the messages to one peer by segment and number, as NCCL requires.
"""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.rank_schedule import Message, RankRound

LEAST_SEGMENT_BYTES = 4 << 20  # below, the start of a batch takes longer than its messages
MOST_SEGMENTS = 8


def p2p_segment_lengths(elements: int, element_bytes: int) -> list[int]:
    """Return the number of elements of each segment: equal lengths, each of at least LEAST_SEGMENT_BYTES."""
    count = max(1, min(MOST_SEGMENTS, elements * element_bytes // LEAST_SEGMENT_BYTES))
    return [(i + 1) * elements // count - i * elements // count for i in range(count)]


def p2p_allreduce(
    x_N: Tensor,
    schedule: Sequence[RankRound],
    *,
    chunks: int,
    group: dist.ProcessGroup | None,
    wire: torch.dtype | None = None,
    lengths: Sequence[int] | None = None,
) -> None:
    """Sum the vector over the ranks of the group, in place.

    `wire`: a 16-bit type for float32 values between ranks; ranks add in float32 and round the sum to the type.
    `lengths`: of the segments; the default is p2p_segment_lengths.
    """
    narrow = wire if x_N.dtype == torch.float32 else None
    lengths = lengths or p2p_segment_lengths(x_N.numel(), x_N.element_size())
    segments = torch.split(x_N, list(lengths)) if x_N.numel() else ()
    rounds = {round_.round: round_ for round_ in schedule}
    for tick in range(max(rounds, default=-1) + len(segments)):
        active = [(segment, rounds[tick - s]) for s, segment in enumerate(segments) if tick - s in rounds]
        _run_batch(active, chunks=chunks, group=group, wire=narrow)
    if narrow is not None:
        x_N.copy_(x_N.to(narrow))


def _run_batch(
    active: Sequence[tuple[Tensor, RankRound]],
    *,
    chunks: int,
    group: dist.ProcessGroup | None,
    wire: torch.dtype | None,
) -> None:
    """Exchange the messages of one round of each active segment, and add or store what arrives."""
    sends = [(message, _slice(x_n, message, chunks)) for x_n, round_ in active for message in round_.sends]
    receives = [(message, _slice(x_n, message, chunks)) for x_n, round_ in active for message in round_.receives]
    # a part to add, or of another type, needs its own buffer; another part arrives in the vector itself
    buffers = [
        torch.empty(part.shape, dtype=wire or part.dtype, device=part.device) if message.add or wire else part
        for message, part in receives
    ]
    ops = [
        dist.P2POp(dist.irecv, buffer, None, group, group_peer=message.peer)
        for (message, _), buffer in zip(receives, buffers, strict=True)
        if buffer.numel()
    ]
    ops += [
        dist.P2POp(dist.isend, part.to(wire) if wire else part, None, group, group_peer=message.peer)
        for message, part in sends
        if part.numel()
    ]
    for work in dist.batch_isend_irecv(ops) if ops else []:
        work.wait()
    for (message, part), buffer in zip(receives, buffers, strict=True):
        if message.add:
            part += buffer
        elif buffer is not part:
            part.copy_(buffer)


def _slice(x_n: Tensor, message: Message, chunks: int) -> Tensor:
    return x_n[message.chunks.start * x_n.numel() // chunks : message.chunks.stop * x_n.numel() // chunks]
