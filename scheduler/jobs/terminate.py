"""End jobs: asked once, killed when that did not help, and again from time to time; each step is written down.

A cluster is told in one command of all jobs at once, and once of each: it is `look` that sees them gone. Only what it
was told is written down: a job that it did not list may have ended, or an answer of its may have left it out.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from scheduler.clusters.cluster import Cluster, DoubtError
from scheduler.context import Site, held
from scheduler.jobs import packed
from store import runs
from store.session import transaction
from store.tables import Run, now

GRACE = timedelta(seconds=15)  # between asking a job to end and making it
AGAIN = timedelta(seconds=60)  # a kill that was not honored is repeated so often
REST_S = 10.0  # after a cluster did not answer, or did not list a job
ENDED_S = 30.0  # after it did not list one that it was told to end: it takes so long until that is known for sure
log = logging.getLogger(__name__)
# of this process alone: by the cluster object, and by a run's key and attempt
_resting_until: dict[int, float] = {}
_unlisted_until: dict[tuple[str, int], float] = {}


def end(site: Site, kind: str, wanted: Sequence[Run], grace: timedelta | None = None) -> None:
    """Take the next step against the job of every run, if it is time for one."""
    cluster = site.clusters.get(kind)
    if not cluster or time.monotonic() < _resting_until.get(id(cluster), 0.0):
        return
    due: dict[bool, list[Run]] = defaultdict(list)
    for run in wanted:
        if time.monotonic() < _unlisted_until.get((run.key, run.attempt), 0.0):
            continue
        if run.job_id and (force := _next_step(run, GRACE if grace is None else grace)) is not None:
            due[force].append(run)
    for force, several in due.items():
        if whole := packed.end_alone(site, several, force=force):
            _tell(site, cluster, whole, force=force)


def _next_step(run: Run, grace: timedelta) -> bool | None:
    """False: ask it to end; True: kill it; None: wait."""
    if run.stop_asked_at is None:
        return False
    since: datetime = run.stop_forced_at or run.stop_asked_at
    return True if now() - since >= (AGAIN if run.stop_forced_at else grace) else None


def _tell(site: Site, cluster: Cluster, several: Sequence[Run], *, force: bool) -> None:
    try:
        told = set(cluster.cancel([held(run) for run in several], force=force))
    except DoubtError as doubt:  # the wish stands in the database: a later tick asks again
        log.info("jobs could not be ended yet: %s", doubt)
        _resting_until[id(cluster)] = time.monotonic() + (0.0 if cluster.is_here else REST_S)
        return
    if heard := [run for run in several if held(run) in told]:
        with transaction(site.engine) as db:
            runs.note_told_to_end(db, heard, force=force)
    if not cluster.is_here:
        _put_off([run for run in several if held(run) not in told])


def _put_off(unlisted: Sequence[Run]) -> None:
    """Leave out for a while what the cluster did not list: most of these are seen to have ended meanwhile."""
    present = time.monotonic()
    for key in [key for key, until in _unlisted_until.items() if until < present]:
        del _unlisted_until[key]
    for run in unlisted:
        _unlisted_until[run.key, run.attempt] = present + (ENDED_S if run.stop_asked_at else REST_S)
