"""Carry a plan out round by round, each round one group of the backend's own messages: for vectors on a GPU."""

import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.rank_schedule import Message, Turn


def exchange(x_N: Tensor, turns: list[Turn], *, chunks: int, group: dist.ProcessGroup | None) -> None:
    """Sum the vector over the ranks of the group, in place."""
    for turn in turns:
        # a part to be added arrives in a buffer of its own; a part to be kept lands in the vector itself
        places = [_slice(x_N, message, chunks) for message in turn.receives]
        rooms = [
            place.new_empty(place.shape) if message.add else place
            for message, place in zip(turn.receives, places, strict=True)
        ]
        ops = [
            dist.P2POp(dist.irecv, room, None, group, group_peer=message.peer)
            for message, room in zip(turn.receives, rooms, strict=True)
            if room.numel()
        ]
        ops += [
            dist.P2POp(dist.isend, part, None, group, group_peer=message.peer)
            for message in turn.sends
            if (part := _slice(x_N, message, chunks)).numel()
        ]
        for work in dist.batch_isend_irecv(ops) if ops else []:
            work.wait()
        for place, room in zip(places, rooms, strict=True):
            if room is not place:
                place += room


def _slice(x_N: Tensor, message: Message, chunks: int) -> Tensor:
    return x_N[message.chunks.start * x_N.numel() // chunks : message.chunks.stop * x_N.numel() // chunks]
