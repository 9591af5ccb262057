"""Carry a plan out on this rank with torch.distributed: the one file that turns rounds into messages.

Chunk c of a vector of N elements is x[c N // chunks : (c + 1) N // chunks]: no padding, and chunks may be empty.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.plan import Round, Send

Allreduce = Callable[[Tensor], None]  # sums a flat vector over all ranks, in place


def follow(rounds: Iterable[Round], *, chunks: int, group: dist.ProcessGroup | None = None) -> Allreduce:
    """Bind a plan over the ranks of `group` to this rank."""
    rank = dist.get_rank(group)
    turns: list[_Turn] = []
    for sends in rounds:
        turn = _Turn.of(sends, rank, turns[-1] if turns else _NOTHING)
        if turn.sends or turn.receives:
            turns.append(turn)
    buffers = _Buffers()

    @torch.no_grad()
    def allreduce(x_N: Tensor) -> None:
        if x_N.ndim != 1 or not x_N.is_contiguous():
            raise ValueError(f"a plan sums a flat, contiguous vector, not one of shape {tuple(x_N.shape)}")
        passage = _Passage(x_N, chunks, group=group, buffers=buffers)
        # gloo sends at once what is awaited already; NCCL wants all of a round in one call, and nothing early
        if x_N.device.type == "cpu":
            passage.awaited_early(turns)
        else:
            passage.round_by_round(turns)

    return allreduce


@dataclass(frozen=True)
class _Turn:
    """What this rank does in one round."""

    sends: list[Send]
    receives: list[Send]
    early: bool  # the receives may be posted while the turn before is under way

    @classmethod
    def of(cls, sends: Round, rank: int, before: "_Turn") -> "_Turn":
        mine = [send for send in sends if send.src == rank]
        receives = [send for send in sends if send.dst == rank]
        # a part to be added arrives in a buffer of its own; a part to be kept lands in the vector itself
        landing = {chunk for send in receives if not send.add for chunk in send.chunks}
        in_use = {chunk for send in (*before.sends, *before.receives) for chunk in send.chunks}
        return cls(mine, receives, early=not landing & in_use)


_NOTHING = _Turn([], [], early=True)


@dataclass
class _Buffers:
    """Where parts wait to be added: two buffers, used in turns, kept from one call to the next."""

    _kept: dict[tuple[torch.dtype, torch.device, bool], Tensor] = field(default_factory=dict)
    _odd: bool = False

    def swap(self, like_N: Tensor, length: int) -> Tensor:
        self._odd = not self._odd
        key = (like_N.dtype, like_N.device, self._odd)
        if key not in self._kept or self._kept[key].numel() < length:
            self._kept[key] = like_N.new_empty(length)
        return self._kept[key]


@dataclass
class _Arrival:
    """A part on its way to this rank: it lands in `into`, and is then added to `addend`, if there is one."""

    op: dist.P2POp
    into: Tensor
    addend: Tensor | None


class _Passage:
    """One vector's way through a plan."""

    def __init__(self, x_N: Tensor, chunks: int, *, group: dist.ProcessGroup | None, buffers: _Buffers) -> None:
        self.x_N, self.chunks, self.group, self.buffers = x_N, chunks, group, buffers

    def awaited_early(self, turns: list[_Turn]) -> None:
        """Take all turns, with the receives of the next one posted before this one's are waited for."""
        awaited = self._await(turns[0]) if turns else []
        for turn, following in pairwise([*turns, _NOTHING]):
            coming = self._await(following) if following.early else None
            sent = [work for op in self._departures(turn) for work in dist.batch_isend_irecv([op])]
            # in the plan's order, so that every repeat sums in the same order
            for arrival, work in awaited:
                work.wait()
                _take_in(arrival)
            for work in sent:
                work.wait()
            awaited = self._await(following) if coming is None else coming

    def round_by_round(self, turns: list[_Turn]) -> None:
        """Take all turns, each as one group of messages."""
        for turn in turns:
            arrivals = self._arrivals(turn)
            ops = [*(arrival.op for arrival in arrivals), *self._departures(turn)]
            for work in dist.batch_isend_irecv(ops) if ops else []:
                work.wait()
            for arrival in arrivals:
                _take_in(arrival)

    def _await(self, turn: _Turn) -> list[tuple[_Arrival, dist.Work]]:
        return [(arrival, dist.batch_isend_irecv([arrival.op])[0]) for arrival in self._arrivals(turn)]

    def _part(self, send: Send) -> Tensor:
        length = self.x_N.numel()
        return self.x_N[send.chunks.start * length // self.chunks : send.chunks.stop * length // self.chunks]

    def _departures(self, turn: _Turn) -> list[dist.P2POp]:
        parts = [(self._part(send), send.dst) for send in turn.sends]
        return [dist.P2POp(dist.isend, part, None, self.group, group_peer=dst) for part, dst in parts if part.numel()]

    def _arrivals(self, turn: _Turn) -> list[_Arrival]:
        parts = [(send, self._part(send)) for send in turn.receives]
        parts = [(send, part) for send, part in parts if part.numel()]
        room_N = self.buffers.swap(self.x_N, sum(part.numel() for send, part in parts if send.add))
        arrivals = []
        for send, part in parts:
            into = part
            if send.add:
                into, room_N = room_N[: part.numel()], room_N[part.numel() :]
            op = dist.P2POp(dist.irecv, into, None, self.group, group_peer=send.src)
            arrivals.append(_Arrival(op, into, part if send.add else None))
        return arrivals


def _take_in(arrival: _Arrival) -> None:
    if arrival.addend is not None:
        arrival.addend += arrival.into
