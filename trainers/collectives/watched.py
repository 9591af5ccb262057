"""The backend's own all-reduce, with a watch on the ranks: one that dies or stalls is named as with any plan."""

import time
from datetime import timedelta

import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runner import TIMEOUT_S, Allreduce
from trainers.collectives.wire.inquest import Inquest, Wait
from trainers.collectives.wire.lost import RankLost
from trainers.collectives.wire.mesh import Mesh
from trainers.collectives.wire.meshes import mesh_of

LOOK_EVERY = timedelta(seconds=0.25)
GRACE_S = 1.0  # a rank that was done and left is no loss: what it sent may still be on its way


def watched(*, group: dist.ProcessGroup | None = None, timeout_s: float = TIMEOUT_S) -> Allreduce:
    """Bind the backend's all-reduce; a call that takes longer than `timeout_s` ends with RankLost.

    What the backend does inside is unseen: all of it is round 0, and a rank that finished before the others broke off
    and has not come back to the next sum counts as silent too.
    """
    others = [peer for peer in range(dist.get_world_size(group)) if peer != dist.get_rank(group)]

    def allreduce(x_N: Tensor) -> None:
        mesh = mesh_of(group)
        mesh.link(others, timeout_s=timeout_s)
        inquest = Inquest(mesh, timeout_s=timeout_s, waits=lambda: [Wait(peer, 0) for peer in others])
        try:
            work = dist.all_reduce(x_N, group=group, async_op=True)
            assert work is not None
            _await(work, mesh, inquest)
        except BaseException as error:
            inquest.tell_all(error)
            raise

    return allreduce


def _await(work: dist.Work, mesh: Mesh, inquest: Inquest) -> None:
    seen_dead_at = 0.0
    while not _ended(work, mesh, inquest):
        moved = mesh.wait(0)
        is_someone_dead = any(line.is_closed for line in mesh.lines.values())
        seen_dead_at = seen_dead_at or is_someone_dead * time.monotonic()
        if not is_someone_dead or time.monotonic() - seen_dead_at > GRACE_S:
            inquest.look(moved)


def _ended(work: dist.Work, mesh: Mesh, inquest: Inquest) -> bool:
    try:
        work.wait(LOOK_EVERY)
        return True
    except RuntimeError as error:
        if not work.is_completed():
            return False  # only our patience ended
        _find_the_dead(mesh, inquest)
        raise RankLost(f"rank {mesh.rank} heard from the backend in round 0: {error}", []) from error


def _find_the_dead(mesh: Mesh, inquest: Inquest) -> None:
    """Raise RankLost if a connection ends within the grace; a dead rank's may do so a moment after the backend's."""
    until = time.monotonic() + GRACE_S
    while time.monotonic() < until:
        inquest.look(mesh.wait(0.05))
