"""Termination of jobs: asked to end once, killed if that does not help, and killed again from time to time.

A cluster is asked in one command for all jobs, and once for each job: the next poll sees them gone. Only the requests
that the cluster got are stored: a job that it did not list may have ended, or its answer may have omitted the job.
"""

import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta

from scheduler.clusters.cluster import Cluster, NoAnswerError
from scheduler.context import Context, handle_of
from scheduler.jobs.packed import request_part_ends
from store import jobs
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Job, Run

GRACE = timedelta(seconds=15)  # from the request to the kill
REPEAT = timedelta(seconds=60)  # from one kill to the next
PAUSE_S = 10.0  # after a cluster did not answer, or did not list a job
ENDED_PAUSE_S = 30.0  # after it did not list a job that it was asked to end: a poll sees the end in this time
log = logging.getLogger(__name__)


def terminate(context: Context, kind: str, runs: Sequence[Run], grace: timedelta | None = None) -> None:
    """Take the next step against the job of every run, where it is due."""
    cluster, memory = context.clusters.get(kind), context.memory
    if not cluster or time.monotonic() < memory.cancel_paused_until.get(kind, 0.0):
        return
    due: dict[bool, list[Run]] = defaultdict(list)
    for run in runs:
        job = run.current_job
        if not job or not job.external_id or time.monotonic() < memory.unlisted_until.get(job.id, 0.0):
            continue
        if (force := _next_step(job, GRACE if grace is None else grace)) is not None:
            due[force].append(run)
    for force, several in due.items():
        if whole := request_part_ends(context, several, force=force):
            _cancel(context, kind, cluster, [run.current_job for run in whole if run.current_job], force=force)


def _next_step(job: Job, grace: timedelta) -> bool | None:
    """Return False to ask the job to end, True to kill it, None to wait."""
    if job.stop_requested_at is None:
        return False
    since: datetime = job.kill_requested_at or job.stop_requested_at
    return True if now() - since >= (REPEAT if job.kill_requested_at else grace) else None


def _cancel(context: Context, kind: str, cluster: Cluster, several: Sequence[Job], *, force: bool) -> None:
    try:
        listed = set(cluster.cancel([handle_of(job) for job in several], force=force))
    except NoAnswerError as error:  # the request stays in the database: a later tick asks again
        log.info("jobs could not be ended yet: %s", error)
        context.memory.cancel_paused_until[kind] = time.monotonic() + (0.0 if cluster.is_local else PAUSE_S)
        return
    if asked := [job.id for job in several if handle_of(job) in listed]:
        with transaction(context.engine) as db:
            jobs.write_stop_requests(db, asked, force=force)
    if not cluster.is_local:
        _pause(context, [job for job in several if handle_of(job) not in listed])


def _pause(context: Context, unlisted: Sequence[Job]) -> None:
    """Leave out for a while the jobs that the cluster did not list: most of them have ended."""
    present, until = time.monotonic(), context.memory.unlisted_until
    for job_id, moment in list(until.items()):  # a copy: the cancel tick and the reap tick run in two threads
        if moment < present:
            until.pop(job_id, None)
    for job in unlisted:
        until[job.id] = present + (ENDED_PAUSE_S if job.stop_requested_at else PAUSE_S)
