"""The backend's own collectives, with a watch on the ranks: one that dies or stalls is named as with any plan.

Each rank watches those at the distances 1, 2, 4, ... on both sides, and whoever is told of a loss tells it on. What the
backend does inside is unseen, so a rank that is done with a call says so to its watchers: if it then stays away, or
leaves, because it is done or at other work, nobody who still waits takes it for the one that is lost.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.allreduce import TIMEOUT_S, Allreduce
from trainers.collectives.wire.connections import Mesh
from trainers.collectives.wire.failure_detector import Inquest, Wait
from trainers.collectives.wire.frame import DONE, Frame
from trainers.collectives.wire.group_connections import mesh_of
from trainers.collectives.wire.rank_lost import RankLost

LOOK_EVERY = timedelta(seconds=0.25)
GRACE_S = 1.0  # between the backend's word that a connection broke and our own sight of whose


def watched(*, group: dist.ProcessGroup | None = None, timeout_s: float = TIMEOUT_S) -> Allreduce:
    """Bind the backend's all-reduce; a call that takes longer than `timeout_s` ends with RankLost, in round 0."""
    return Watch(group=group, timeout_s=timeout_s).all_reduce


class Watch:
    """The backend's collectives, which all ranks of a group call in the same order, each watched.

    A call that takes longer than `timeout_s`, or that a rank left, ends with RankLost. Tensors on a GPU are left to
    NCCL's own watch.
    """

    def __init__(self, *, group: dist.ProcessGroup | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._group, self._timeout_s = group, timeout_s

    def all_reduce(self, x: Tensor, op: dist.ReduceOp.RedOpType = dist.ReduceOp.SUM) -> None:
        """Reduce a tensor over all ranks, in place."""
        self._carry_out(lambda: dist.all_reduce(x, op, self._group, async_op=True), device=x.device)

    def all_gather(self, parts: list[Tensor], own: Tensor) -> None:
        """Take every rank's tensor into `parts`, which are of one shape, in the ranks' order."""
        self._carry_out(lambda: dist.all_gather(parts, own, self._group, async_op=True), device=own.device)

    def barrier(self) -> None:
        """Wait until all ranks are here."""
        self._carry_out(lambda: dist.barrier(self._group, async_op=True), device=torch.device("cpu"))

    def _carry_out(self, begin: Callable[[], dist.Work | None], *, device: torch.device) -> None:
        if device.type == "cpu":
            self._wait_watching(begin)
        elif (work := begin()) is not None:
            work.wait()

    def _wait_watching(self, begin: Callable[[], dist.Work | None]) -> None:
        mesh, timeout_s = mesh_of(self._group), self._timeout_s
        peers = sorted(neighbors(mesh.rank, dist.get_world_size(self._group)))
        mesh.link(peers, timeout_s=timeout_s)
        number, mesh.next_segment = mesh.next_segment, mesh.next_segment + 1
        inquest = Inquest(mesh, timeout_s=timeout_s, waits=lambda: _waits(mesh, peers, number))
        try:
            mesh.wait(0)  # who is done said so, and is to be heard sooner or later
            work = begin()
            assert work is not None
            while not _ended(work, mesh, inquest):
                inquest.look(mesh.wait(0))
        except BaseException as error:
            inquest.tell_all(error)
            raise
        for peer in peers:
            mesh.lines[peer].post(Frame(DONE, segment=number))


def neighbors(rank: int, world: int) -> set[int]:
    """Whom a rank watches, and who watch it; every rank is within log2(world) steps of every other."""
    distances = [1 << bit for bit in range((world - 1).bit_length())]
    return {(rank + side * distance) % world for distance in distances for side in (1, -1)} - {rank}


def _waits(mesh: Mesh, peers: list[int], number: int) -> list[Wait]:
    return [Wait(peer, 0) for peer in peers if mesh.done.get(peer, -1) < number]


def _ended(work: dist.Work, mesh: Mesh, inquest: Inquest) -> bool:
    with suppress(RuntimeError):  # our patience ended, or the call did, with an error
        work.wait(LOOK_EVERY)
        return True
    if not work.is_completed():
        return False
    try:
        work.wait()  # at once; it may have ended well, just after our patience
        return True
    except RuntimeError as error:
        _find_the_dead(mesh, inquest)
        raise RankLost(f"rank {mesh.rank} heard from the backend in round 0: {error}", [], in_round=0) from error


def _find_the_dead(mesh: Mesh, inquest: Inquest) -> None:
    """Raise RankLost if a connection ends within the grace, or somebody tells of one that did."""
    until = time.monotonic() + GRACE_S
    while time.monotonic() < until:
        inquest.look(mesh.wait(0.05))
