"""Which queued runs go to a cluster next, and together: those that ask for the same, as far as there is room."""

from collections.abc import Sequence
from typing import NamedTuple

from scheduler.clusters.cluster import Cluster
from scheduler.site import Site, job_name
from store import launches, runs
from store.launches import Group
from store.session import snapshot
from store.tables import Run

AT_ONCE = 2000  # runs that one submission takes, however much the cluster would


class Batch(NamedTuple):
    """Runs for one submission, and its name."""

    name: str
    runs: Sequence[Run]
    parallel: int | None = None  # of them that may run at once


def choose(site: Site, kind: str, cluster: Cluster) -> Batch | None:
    """The next submission to `cluster`; None when nothing waits, or nothing may go now."""
    if cluster.is_here:
        return _next_here(site, kind)
    with snapshot(site.engine) as db:
        groups = launches.groups(db, kind)
    if not groups or not cluster.may_submit():
        return None
    tasks, jobs = cluster.limits()
    with snapshot(site.engine) as db:
        room = AT_ONCE if jobs is None else jobs - sum(launches.under_way(db, kind).values())
        for group in groups:
            capped = group.experiment_id is not None
            most, parallel = _admitted(group, launches.under_way(db, kind, group.experiment_id) if capped else {})
            size = min(tasks, room, AT_ONCE, most)
            if size > 0 and (members := launches.members(db, kind, group, size)):
                return _batch(members, parallel)
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

    What its experiment has submitted before may take up to the cap itself, so only the rest is left. A little rest is
    not used: an array keeps its cap for life, and a thousand runs would go through one by one.
    """
    cap = group.max_parallel
    if cap is None:
        return group.size, None
    left = cap - sum(min(cap, runs) for runs in under_way.values())
    return (group.size, left) if left >= min(cap, group.size) else (0, None)


def _batch(members: Sequence[Run], parallel: int | None = None) -> Batch:
    first = members[0]
    return Batch(job_name(first.key, first.attempt + 1), members, parallel)
