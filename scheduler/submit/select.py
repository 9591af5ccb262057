"""Which queued runs go to a cluster next, and together: those that ask for the same, as far as there is room."""

from collections.abc import Sequence
from typing import NamedTuple

from scheduler.clusters.cluster import Cluster
from scheduler.context import Site, job_name
from store import runs
from store import submissions as launches
from store.session import snapshot
from store.submissions import Group
from store.tables import Run

AT_ONCE = 2000  # runs that one submission takes, however much the cluster would
FEW = 64  # runs of a submission that is made within a tick, beside one of more


class Batch(NamedTuple):
    """Runs for one submission, and its name."""

    name: str
    runs: Sequence[Run]
    parallel: int | None = None  # of them that may run at once
    pack: int | None = None  # so many of them share a job


def choose(site: Site, kind: str, cluster: Cluster, *, few: bool = False) -> Batch | None:
    """The next submission to `cluster`; None when nothing waits, or nothing may go now.

    `few`: one of few runs, which leaves another that is under way its call of the cluster.
    """
    if cluster.is_here:
        return _next_here(site, kind) if cluster.may_submit() else None
    with snapshot(site.engine) as db:
        groups = launches.groups(db, kind)
    if not groups or not cluster.may_submit(besides=int(few)):
        return None
    tasks, jobs, _ = cluster.limits()
    with snapshot(site.engine) as db:
        room = AT_ONCE if jobs is None else jobs - launches.jobs_under_way(db, kind)
        for group in groups:
            capped = group.max_parallel is not None
            most, parallel = _admitted(group, launches.under_way(db, kind, group.experiment_id) if capped else {})
            size = min(min(tasks, room) * (group.pack or 1), AT_ONCE, most)
            if 0 < size <= (FEW if few else AT_ONCE) and (members := launches.members(db, kind, group, size)):
                return _batch(members, parallel, group.pack)
    return None


def _next_here(site: Site, kind: str) -> Batch | None:
    """One run, the oldest, if there is room for its ranks; no younger run overtakes one that waits for room."""
    with snapshot(site.engine) as db:
        oldest = runs.queued(db, kind, 1)
        busy = runs.busy_ranks(db, kind) if oldest else 0
    # a run wider than this machine gets it to itself
    return _batch(oldest) if oldest and (not busy or busy + oldest[0].world <= site.local_ranks) else None


def _admitted(group: Group, under_way: dict[str, int]) -> tuple[int, int | None]:
    """How many runs of the group may be submitted, and how many of those may run at once.

    A little rest is not used: an array keeps its cap for life, and a thousand runs would go through one by one.
    """
    cap = group.max_parallel
    if cap is None:
        return group.size, None
    left = launches.left(cap, under_way)
    return (group.size, left) if left >= min(cap, group.size) else (0, None)


def _batch(members: Sequence[Run], parallel: int | None = None, pack: int | None = None) -> Batch:
    first = members[0]
    return Batch(job_name(first.key, first.attempt + 1), members, parallel, pack)
