"""The reap tick: end jobs that outlive their runs, and jobs of submissions that were given up.

A rank that hangs would hold its nodes until the time limit. A cluster may accept a job after its submission was given
up: the job's claim is taken, so it would leave at once, but it waits in the queue and costs a start.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta

from contract.lifecycle.state import State
from scheduler.clusters.cluster import Alive, Cluster, Gone, JobHandle, NoAnswerError, RateLimitedError
from scheduler.context import Context
from scheduler.jobs.status import status_of_jobs
from scheduler.jobs.terminate import terminate
from scheduler.outcome.exit_cause import SUSPECTED
from store import jobs, runs
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Job, Run

GRACE = timedelta(seconds=40)  # for cleaning up; srun gives ranks that hang 32 s (KillWait, and two)
KILL_AFTER = timedelta(seconds=30)  # from the request to the kill
BATCH = 500
# from one search for the jobs of submissions that were given up to the next, and how long a search may find one
SEARCH_APART, SEARCHED_FOR = timedelta(seconds=60), timedelta(minutes=2)
log = logging.getLogger(__name__)


def reap(context: Context) -> None:
    """Store which jobs of ended runs are gone, and end those that stay."""
    with snapshot(context.engine) as db:
        ended = runs.with_open_jobs(db, BATCH)
    by_cluster: dict[str, list[tuple[Run, Job]]] = defaultdict(list)
    for run in ended:
        if run.current_job:
            by_cluster[run.cluster].append((run, run.current_job))
    for kind, pairs in by_cluster.items():
        if kind in context.clusters:
            _reap_one(context, kind, pairs)
    with snapshot(context.engine) as db:
        any_given_up = jobs.any_given_up(db)
    for kind, cluster in context.clusters.items() if any_given_up else ():
        _cancel_given_up(context, kind, cluster)


def _reap_one(context: Context, kind: str, pairs: Sequence[tuple[Run, Job]]) -> None:
    status = status_of_jobs(context, kind, [job for _, job in pairs])
    # the end of a paused run's job is for `ingest`, which queues the run again
    gone = [job.id for run, job in pairs if run.state is not State.PAUSED and isinstance(status[job.id], Gone)]
    if gone:
        with transaction(context.engine) as db:
            jobs.write_gone(db, gone)
    overdue = [
        run
        for run, job in pairs
        if isinstance(status[job.id], Alive) and now() - run.moved_at > _grace(context, run, job)
    ]
    terminate(context, kind, overdue, KILL_AFTER)


def _grace(context: Context, run: Run, job: Job) -> timedelta:
    """Return no grace for a run that reported a failure, whose ranks wait for each other: nothing is cleaned up."""
    is_waiting = run.state is State.FAILED or (run.state is State.PAUSED and job.reported_cause is SUSPECTED)
    return timedelta(0) if is_waiting and not context.clusters[run.cluster].is_local else GRACE


def _cancel_given_up(context: Context, kind: str, cluster: Cluster) -> None:
    """Cancel the jobs that a cluster has of submissions that were given up; the database says when to search again."""
    with transaction(context.engine) as db:
        since = jobs.begin_search(db, kind, SEARCH_APART)
    if not since:
        return
    try:
        listed = {job.name for job in cluster.cancel([JobHandle("", name) for name in since])}
    except RateLimitedError:
        with transaction(context.engine) as db:
            jobs.repeat_search(db, list(since))
        return
    except NoAnswerError as error:
        log.info("whether %s has jobs of submissions that were given up is not known yet: %s", kind, error)
        return
    if ended := [name for name, at in since.items() if name not in listed and now() - at > SEARCHED_FOR]:
        with transaction(context.engine) as db:
            jobs.end_search(db, ended)
