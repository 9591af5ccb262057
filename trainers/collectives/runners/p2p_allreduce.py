"""Run a plan by the backend's point-to-point messages, one batch per round: for vectors on a GPU."""

import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.rank_schedule import Message, RankRound


def p2p_allreduce(x_N: Tensor, schedule: list[RankRound], *, chunks: int, group: dist.ProcessGroup | None) -> None:
    """Sum the vector over the ranks of the group, in place."""
    for round_ in schedule:
        # a part to add needs its own buffer; a part that replaces a slice arrives in the vector itself
        slices = [_slice(x_N, message, chunks) for message in round_.receives]
        buffers = [
            slice_.new_empty(slice_.shape) if message.add else slice_
            for message, slice_ in zip(round_.receives, slices, strict=True)
        ]
        ops = [
            dist.P2POp(dist.irecv, buffer, None, group, group_peer=message.peer)
            for message, buffer in zip(round_.receives, buffers, strict=True)
            if buffer.numel()
        ]
        ops += [
            dist.P2POp(dist.isend, part, None, group, group_peer=message.peer)
            for message in round_.sends
            if (part := _slice(x_N, message, chunks)).numel()
        ]
        for work in dist.batch_isend_irecv(ops) if ops else []:
            work.wait()
        for slice_, buffer in zip(slices, buffers, strict=True):
            if buffer is not slice_:
                slice_ += buffer


def _slice(x_N: Tensor, message: Message, chunks: int) -> Tensor:
    return x_N[message.chunks.start * x_N.numel() // chunks : message.chunks.stop * x_N.numel() // chunks]
