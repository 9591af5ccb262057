"""End jobs: asked once, killed when that did not help, and again from time to time; each step is written down.

A cluster is told in one command of all jobs at once, and once of each: it is `look` that sees them gone.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from scheduler.clusters.cluster import Cluster, DoubtError
from scheduler.site import Site, held
from store import runs
from store.session import transaction
from store.tables import Run, now

GRACE = timedelta(seconds=15)  # between asking a job to end and making it
AGAIN = timedelta(seconds=60)  # a kill that was not honored is repeated so often
REST_S = 10.0  # after a cluster did not answer
log = logging.getLogger(__name__)
_resting_until: dict[int, float] = {}  # by the cluster object: one of this process alone


def end(site: Site, kind: str, wanted: Sequence[Run], grace: timedelta | None = None) -> None:
    """Take the next step against the job of every run, if it is time for one."""
    cluster = site.clusters.get(kind)
    if not cluster or time.monotonic() < _resting_until.get(id(cluster), 0.0):
        return
    due: dict[bool, list[Run]] = defaultdict(list)
    for run in wanted:
        if run.job_id and (force := _next_step(run, GRACE if grace is None else grace)) is not None:
            due[force].append(run)
    for force, several in due.items():
        _tell(site, cluster, several, force=force)


def _next_step(run: Run, grace: timedelta) -> bool | None:
    """False: ask it to end; True: kill it; None: wait."""
    if run.stop_asked_at is None:
        return False
    since: datetime = run.stop_forced_at or run.stop_asked_at
    return True if now() - since >= (AGAIN if run.stop_forced_at else grace) else None


def _tell(site: Site, cluster: Cluster, several: Sequence[Run], *, force: bool) -> None:
    try:
        cluster.cancel([held(run) for run in several], force=force)
    except DoubtError as doubt:  # the wish stands in the database: a later tick asks again
        log.info("jobs could not be ended yet: %s", doubt)
        _resting_until[id(cluster)] = time.monotonic() + (0.0 if cluster.is_here else REST_S)
        return
    with transaction(site.engine) as db:
        runs.note_told_to_end(db, several, force=force)
