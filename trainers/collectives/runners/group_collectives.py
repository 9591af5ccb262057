"""GroupCollectives: the collectives of a group of ranks on CPUs, each by a plan of rounds, on tensors of any shape.

An operation that cuts its tensor into blocks, one per rank, does so along the first dimension. A large tensor of n rows
travels in segments of columns, so that every segment has a part of each rank's block.
"""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.plan import Plan
from trainers.collectives.plans import blocks, halving_doubling, ring
from trainers.collectives.runners.allreduce import TIMEOUT_S
from trainers.collectives.runners.pipelined_allreduce import PipelinedAllreduce
from trainers.collectives.runners.rank_schedule import RankRound, rank_schedule
from trainers.collectives.runners.segments import SEGMENT_BYTES, segment_lengths
from trainers.collectives.wire.group_connections import connections_of


def is_power_of_two(n: int) -> bool:
    """Return whether n is 1, 2, 4, ..."""
    return n & (n - 1) == 0


class GroupCollectives:
    """The collectives of one group; all ranks of the group call the same methods in the same order.

    `order`: the ranks of `group` in the order of their blocks, if it is not that of their numbers.
    `shares_memory=False`: for a group that broadcasts or reduces. The root of a broadcast ends before the other ranks
    have begun, so it could overwrite shared memory that a slow rank has yet to read.
    """

    def __init__(
        self,
        group: dist.ProcessGroup,
        *,
        order: Sequence[int] | None = None,
        shares_memory: bool = True,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.size, self._rank = dist.get_world_size(group), dist.get_rank(group)
        ranks = list(order or range(self.size))
        self.index = ranks.index(self._rank)
        self._group, self._shares_memory, self._timeout_s = group, shares_memory, timeout_s
        doubles = is_power_of_two(self.size)
        self._all_gather = self._schedule(blocks.all_gather(ranks, doubles=doubles))
        self._reduce_scatter = self._schedule(blocks.reduce_scatter(ranks, doubles=doubles))
        rotations = [[*ranks[root:], *ranks[:root]] for root in range(self.size)]
        self._broadcast = [self._schedule(blocks.broadcast(rotation)) for rotation in rotations]
        self._reduce = [self._schedule(blocks.reduce(rotation)) for rotation in rotations]
        self._all_reduce_plan = (halving_doubling.plan if doubles else ring.plan)([ranks])
        self._all_reduce_rounds = self._schedule(self._all_reduce_plan)

    @torch.no_grad()
    def all_gather(self, x: Tensor) -> Tensor:
        """Return the tensors of all ranks, concatenated along the first dimension."""
        if self.size == 1:
            return x
        own_M = x.contiguous().flatten()
        out_NM = own_M.new_empty(self.size, own_M.numel())
        columns = self._columns(own_M)
        parts = [out_NM.flatten()] if len(columns) == 1 else [own_M.new_empty(self.size * c) for c in columns]
        for part, own in zip(parts, torch.split(own_M, columns), strict=True):
            part.view(self.size, -1)[self.index] = own
        self._run(parts, self._all_gather, chunks=self.size)
        if len(columns) > 1:
            torch.cat([part.view(self.size, -1) for part in parts], dim=1, out=out_NM)
        return out_NM.view(self.size * x.shape[0], *x.shape[1:])

    @torch.no_grad()
    def reduce_scatter(self, x: Tensor) -> Tensor:
        """Return this rank's block of the sum over the ranks: the rows are cut into one block per rank."""
        if self.size == 1:
            return x
        rows, rest = divmod(x.shape[0], self.size)
        if rest:
            raise ValueError(f"{x.shape[0]} rows do not divide into {self.size} blocks")
        x_NM = x.contiguous().view(self.size, -1)
        columns = self._columns(x_NM[0])
        parts = [part.flatten() for part in torch.split(x_NM.clone(), columns, dim=1)]
        self._run(parts, self._reduce_scatter, chunks=self.size)
        own = [part.view(self.size, -1)[self.index] for part in parts]
        return torch.cat(own).view(rows, *x.shape[1:])

    @torch.no_grad()
    def all_reduce(self, x: Tensor) -> Tensor:
        """Return the sum over the ranks, the same bits on every rank."""
        if self.size == 1:
            return x
        flat_N = x.contiguous().flatten().clone()
        self._run(self._segments(flat_N), self._all_reduce_rounds, chunks=self._all_reduce_plan.chunks)
        return flat_N.view(x.shape)

    @torch.no_grad()
    def broadcast(self, x: Tensor, root: int) -> Tensor:
        """Return the tensor of the rank `root` of the group; the others' have the same shape."""
        return self._between_root(x, self._broadcast[root])

    @torch.no_grad()
    def reduce(self, x: Tensor, root: int) -> Tensor:
        """Return the sum over the ranks on the rank `root` of the group, and a part of it on the others."""
        return self._between_root(x, self._reduce[root])

    def _between_root(self, x: Tensor, schedule: list[RankRound]) -> Tensor:
        assert not self._shares_memory, "broadcast and reduce need a group without shared memory"
        if self.size == 1:
            return x
        flat_N = x.contiguous().flatten().clone()
        self._run(self._segments(flat_N), schedule, chunks=1)
        return flat_N.view(x.shape)

    def _schedule(self, plan: Plan) -> list[RankRound]:
        return rank_schedule(plan.rounds_of(self._rank), self._rank)

    def _columns(self, own_M: Tensor) -> list[int]:
        """Return the number of columns of each segment."""
        most = max(SEGMENT_BYTES // (own_M.element_size() * self.size), 1)
        whole, rest = divmod(own_M.numel(), most)
        return [most] * whole + [rest] * (rest > 0)

    def _segments(self, flat_N: Tensor) -> list[Tensor]:
        return list(torch.split(flat_N, segment_lengths(flat_N.numel(), flat_N.element_size())))

    def _run(self, parts: Sequence[Tensor], schedule: list[RankRound], *, chunks: int) -> None:
        connections = connections_of(self._group)
        connections.connect(
            {message.peer for round_ in schedule for message in (*round_.sends, *round_.receives)},
            timeout_s=self._timeout_s,
        )
        once = PipelinedAllreduce(
            list(parts),
            schedule,
            chunks=chunks,
            connections=connections,
            wire=None,
            shares_memory=self._shares_memory,
        )
        once.run(timeout_s=self._timeout_s)
