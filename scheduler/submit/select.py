"""Selection of queued runs for the next submission: runs with equal requests, as many as the cluster has room for."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from sqlalchemy.orm import Session

from scheduler.clusters.cluster import Cluster, Limits
from scheduler.context import Context, job_name
from scheduler.submit.learned_limit import MANY_CALLS, SPARE_CALLS, leaves_within, room
from store import clusters, runs, submissions
from store.session import snapshot
from store.submissions import Group, LiveJobs
from store.tables.base import now
from store.tables.clusters import SubmitLimit
from store.tables.runs import Run

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
    limits, (has_calls, has_many) = cluster.limits(), (cluster.may_submit(besides=n) for n in (SPARE_CALLS, MANY_CALLS))
    with snapshot(context.engine) as db:
        space = _Space.read(db, kind, limits, has_calls=has_calls, has_many_calls=has_many)
        for group in groups:
            size = min(space.jobs_for(group) * (group.pack or 1), MAX_RUNS, group.size)
            if not (0 < size <= (SMALL if small else MAX_RUNS) and may_submit(size == 1)):
                continue
            may_run, parallel = _may_run(db, kind, group, size)
            if may_run and (members := submissions.members(db, kind, group, size)):
                return _selection(members, parallel, group.pack)
    return None


class _Space(NamedTuple):
    """How many more jobs a cluster has room for."""

    limits: Limits
    live: Mapping[str, LiveJobs]  # by queue
    learned: Mapping[str, SubmitLimit]  # by queue
    has_calls: bool
    has_many_calls: bool

    @classmethod
    def read(cls, db: Session, kind: str, limits: Limits, *, has_calls: bool, has_many_calls: bool) -> "_Space":
        learned = clusters.submit_limits(db, kind)
        live = submissions.count_live_jobs(db, kind, ended_after=now() - leaves_within(learned.values()))
        return cls(limits, live, learned, has_calls, has_many_calls)

    def jobs_for(self, group: Group) -> int:
        """Return how many jobs, at most, may be submitted for the runs of a group."""
        wanted = min(self.limits.tasks, -(-min(group.size, MAX_RUNS) // (group.pack or 1)))
        if self.limits.jobs is not None:
            wanted = min(wanted, self.limits.jobs - sum(one.accepted + one.submitting for one in self.live.values()))
        learned, live = self.learned.get(group.queue), self.live.get(group.queue, LiveJobs())
        return room(learned, live, wanted, now(), has_calls=self.has_calls, has_many_calls=self.has_many_calls)


def _next_local(context: Context, kind: str) -> Selection | None:
    """Return the oldest run if its ranks have room; no younger run overtakes a run that waits for room."""
    with snapshot(context.engine) as db:
        oldest = runs.queued(db, kind, 1)
        limit = clusters.submit_limit(db, kind, "")
        busy = runs.busy_ranks(db, kind) if oldest else 0
    if not oldest or not room(limit, LiveJobs(), 1, now(), has_calls=True):
        return None
    # a run with more ranks than this machine allows gets the machine to itself
    return _selection(oldest) if not busy or busy + oldest[0].world <= context.local_ranks else None


def _may_run(db: Session, kind: str, group: Group, size: int) -> tuple[bool, int | None]:
    """Return whether the cap of the group's experiment admits a submission of `size` runs, and how many run at once.

    Wait for the full cap unless it admits all of them: an array's %N is fixed at submission, and a small rest would run
    a thousand runs one by one.
    """
    cap = group.max_parallel
    if cap is None:
        return True, None
    free = submissions.free_slots(cap, submissions.count_live_runs(db, kind, group.experiment_id, group.step_id))
    return free >= min(cap, size), free


def _selection(members: Sequence[Run], parallel: int | None = None, pack: int | None = None) -> Selection:
    first = members[0]
    return Selection(job_name(first.key, first.attempt + 1, first.withdrawn), members, parallel, pack)
