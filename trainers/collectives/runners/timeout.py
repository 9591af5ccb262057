"""The backend's own collectives with a timeout that names the failed rank.

Each rank connects to the ranks at the distances 1, 2, 4, ... on both sides, and forwards each failure report to them.
The backend does not show its progress, so a rank that has completed a call sends DONE to its neighbors: a rank that
then leaves, or does not answer because it computes, is not mistaken for the failed rank.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from trainers.collectives.runners.allreduce import TIMEOUT_S, Allreduce
from trainers.collectives.wire.connections import Connections
from trainers.collectives.wire.failure_detector import AwaitedRank, FailureDetector
from trainers.collectives.wire.frame import DONE, Frame
from trainers.collectives.wire.group_connections import connections_of
from trainers.collectives.wire.rank_lost import RankLost

POLL_EVERY = timedelta(seconds=0.25)
# After the backend reports a broken connection, the own connection to the dead rank may need so long to close.
CLOSE_WITHIN_S = 1.0


def backend_allreduce(*, group: dist.ProcessGroup | None = None, timeout_s: float = TIMEOUT_S) -> Allreduce:
    """Return the backend's all-reduce; a call longer than `timeout_s` raises RankLost with round 0."""
    return BackendCollectives(group=group, timeout_s=timeout_s).all_reduce


class BackendCollectives:
    """The backend's collectives with a timeout; all ranks of a group must call them in the same order.

    A call raises RankLost if it takes longer than `timeout_s` or if a rank dies. For tensors on a GPU, only the timeout
    of NCCL's group applies (gpu_group.py).
    """

    def __init__(self, *, group: dist.ProcessGroup | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._group, self._timeout_s = group, timeout_s

    def all_reduce(self, x: Tensor, op: dist.ReduceOp.RedOpType = dist.ReduceOp.SUM) -> None:
        """Reduce a tensor over all ranks, in place."""
        self._run(lambda: dist.all_reduce(x, op, self._group, async_op=True), device=x.device)

    def all_gather(self, parts: list[Tensor], own: Tensor) -> None:
        """Gather the tensors of all ranks into `parts`, in rank order; all tensors must have the same shape."""
        self._run(lambda: dist.all_gather(parts, own, self._group, async_op=True), device=own.device)

    def barrier(self) -> None:
        """Wait until all ranks have called the barrier."""
        self._run(lambda: dist.barrier(self._group, async_op=True), device=torch.device("cpu"))

    def _run(self, start: Callable[[], dist.Work | None], *, device: torch.device) -> None:
        if device.type == "cpu":
            self._run_with_timeout(start)
        elif (work := start()) is not None:
            work.wait()

    def _run_with_timeout(self, start: Callable[[], dist.Work | None]) -> None:
        connections, timeout_s = connections_of(self._group), self._timeout_s
        peers = sorted(neighbors(connections.rank, dist.get_world_size(self._group)))
        connections.connect(peers, timeout_s=timeout_s)
        number = connections.state.reserve_segments(1).start
        detector = FailureDetector(
            connections, timeout_s=timeout_s, awaited=lambda: _awaited(connections, peers, number)
        )
        try:
            connections.poll(0)  # read the DONE frames of earlier calls
            work = start()
            assert work is not None
            while not _has_completed(work, connections, detector):
                detector.check_progress(connections.poll(0))
        except BaseException as error:
            detector.report_failure(error)
            raise
        for peer in peers:
            connections.to[peer].send(Frame(DONE, segment=number))


def neighbors(rank: int, world: int) -> set[int]:
    """Return the ranks to which `rank` connects: every rank reaches every other rank in log2(world) steps."""
    distances = [1 << bit for bit in range((world - 1).bit_length())]
    return {(rank + side * distance) % world for distance in distances for side in (1, -1)} - {rank}


def _awaited(connections: Connections, peers: list[int], number: int) -> list[AwaitedRank]:
    return [AwaitedRank(peer, 0) for peer in peers if not connections.state.is_done(peer, number)]


def _has_completed(work: dist.Work, connections: Connections, detector: FailureDetector) -> bool:
    """Wait up to POLL_EVERY for the work; raise RankLost if the backend reports an error."""
    with suppress(RuntimeError):  # the wait timed out, or the backend failed: is_completed() distinguishes the two
        work.wait(POLL_EVERY)
        return True
    if not work.is_completed():
        return False
    try:
        work.wait()  # returns at once; the work may have completed without error just after the wait timed out
        return True
    except RuntimeError as error:
        _wait_for_closed_connection(connections, detector)
        message = f"the backend reported an error to rank {connections.rank} in round 0: {error}"
        raise RankLost(message, [], in_round=0) from error


def _wait_for_closed_connection(connections: Connections, detector: FailureDetector) -> None:
    """Raise RankLost if a connection closes, or a peer reports a failure, within CLOSE_WITHIN_S."""
    deadline = time.monotonic() + CLOSE_WITHIN_S
    while time.monotonic() < deadline:
        detector.check_progress(connections.poll(0.05))
