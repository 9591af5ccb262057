"""Selection of queued runs for the next submission: runs with equal requests, as many as the cluster has room for."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from scheduler.clusters.cluster import Cluster
from scheduler.context import Context, job_name
from store import runs, submissions
from store.session import snapshot
from store.submissions import Group
from store.tables import Run

MAX_RUNS = 2000  # in one submission, however much the cluster accepts
SMALL = 64  # runs of a submission that is made within a tick, beside a larger one


class Selection(NamedTuple):
    """Runs for one submission, and its name."""

    name: str
    runs: Sequence[Run]
    parallel: int | None = None  # runs that may run at once
    pack: int | None = None  # runs that share a job


def select_next(context: Context, kind: str, cluster: Cluster, *, small: bool = False) -> Selection | None:
    """Return the next submission to `cluster`; None if no run waits, or none may be submitted now.

    `small`: a submission of few runs, which leaves one call of the cluster to a larger one that is open.
    """
    if cluster.is_local:
        return _next_local(context, kind) if cluster.may_submit() else None
    with snapshot(context.engine) as db:
        groups = submissions.groups(db, kind)
    may_submit = cache(lambda single: cluster.may_submit(single=single, besides=int(small)))
    if not any(may_submit(is_single) for is_single in {group.size == 1 for group in groups}):
        return None
    tasks, jobs, _ = cluster.limits()
    with snapshot(context.engine) as db:
        room = MAX_RUNS if jobs is None else jobs - submissions.count_live_jobs(db, kind)
        for group in groups:
            has_cap = group.max_parallel is not None
            live = submissions.count_live_runs(db, kind, group.experiment_id) if has_cap else {}
            allowed, parallel = _allowed(group, live)
            size = min(min(tasks, room) * (group.pack or 1), MAX_RUNS, allowed)
            if not (0 < size <= (SMALL if small else MAX_RUNS) and may_submit(size == 1)):
                continue
            if members := submissions.members(db, kind, group, size):
                return _selection(members, parallel, group.pack)
    return None


def _next_local(context: Context, kind: str) -> Selection | None:
    """Return the oldest run if its ranks have room; no younger run overtakes a run that waits for room."""
    with snapshot(context.engine) as db:
        oldest = runs.queued(db, kind, 1)
        busy = runs.busy_ranks(db, kind) if oldest else 0
    # a run with more ranks than this machine allows gets the machine to itself
    has_room = oldest and (not busy or busy + oldest[0].world <= context.local_ranks)
    return _selection(oldest) if has_room else None


def _allowed(group: Group, live_runs: dict[str, int]) -> tuple[int, int | None]:
    """Return how many runs of the group may be submitted, and how many of those may run at once.

    Wait for the full cap: an array's %N is fixed at submission, and a small rest would run a thousand runs one by one.
    """
    cap = group.max_parallel
    if cap is None:
        return group.size, None
    free = submissions.free_slots(cap, live_runs)
    return (group.size, free) if free >= min(cap, group.size) else (0, None)


def _selection(members: Sequence[Run], parallel: int | None = None, pack: int | None = None) -> Selection:
    first = members[0]
    return Selection(job_name(first.key, first.attempt + 1), members, parallel, pack)
