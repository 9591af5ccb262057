"""The number of loader processes of a rank, where the spec leaves it open."""

import os

from trainers.ranks.rank_info import RankInfo

MOST = 16  # each has a process's memory and two batches ahead
WITH_CPU_NET = 2  # a net on cpus computes a hundred times longer than an image decodes, on the same cpus


def count_workers(stated: int | None, rank_info: RankInfo, *, allowed: int | None = None, is_cpu: bool) -> int:
    """Return the number that the spec states, or one by the rank's cpus, of `allowed` that its process may use.

    Where a GPU computes, one cpu remains for the rank itself.
    """
    if stated is not None:
        return stated
    allowed = _allowed_cpus() if allowed is None else allowed
    # cpus that are not reserved for a rank are shared by the ranks of the host
    own = allowed // rank_info.local_world if rank_info.cores is None else min(allowed, rank_info.cores)
    return max(1, min(own, WITH_CPU_NET) if is_cpu else min(own - 1, MOST))


def _allowed_cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
