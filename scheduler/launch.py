"""Bring queued runs to their clusters, each exactly once however many launchers there are.

What is written before what, so that a launcher may die anywhere: the runs are `submitting` under a name (the intent);
their folders lie there, and for an array which task carries which run; only then is the cluster asked, and what it
answers is stored. Runs that stay `submitting` are found by that name (scheduler/recover.py).
"""

import errno
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from contract.run import State
from scheduler.batches import Batch, choose
from scheduler.clusters.cluster import Array, BusyError, Cluster, DoubtError, FullError, Held, Job, RefusedError
from scheduler.site import Site
from store import launches, runs
from store.session import snapshot, transaction
from store.tables import Run, now

BUDGET_S = 20.0  # a tick is short; what is left over is for the next one
FULL_FOR = timedelta(seconds=30)  # how long a cluster that takes no more is left alone
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
WRITERS = 16  # a shared file system is slow for one and fast for many
log = logging.getLogger(__name__)


def launch(site: Site) -> None:
    """Submit queued runs, oldest first, while there is room and time."""
    until = time.monotonic() + BUDGET_S
    for kind, cluster in site.clusters.items():
        try:
            _launch_to(site, kind, cluster, until)
        except DoubtError as doubt:  # the cluster does not say how much it takes, or was asked often enough
            log.info("%s is not launched to: %s", kind, doubt)


def _launch_to(site: Site, kind: str, cluster: Cluster, until: float) -> None:
    tried: set[int] = set()  # a run that comes back to the queue meanwhile is for the next tick
    while time.monotonic() < until and (batch := choose(site, kind, cluster)):
        if tried.intersection(run.id for run in batch.runs):
            return
        tried.update(run.id for run in batch.runs)
        _launch(site, cluster, batch)


def _launch(site: Site, cluster: Cluster, batch: Batch) -> None:
    with transaction(site.engine) as db:
        taken = launches.take(db, batch.runs, batch.name)
    if not taken:
        return  # another launcher was first, or a stop
    jobs = _prepare(site, taken)
    if len(taken) > 1 and jobs:
        array = site.array_of(jobs, parallel=batch.parallel)
        try:
            array.folder.prepare({task: job.folder for task, job in jobs.items()})
        except OSError as error:
            _put_back(site, batch.name, "the folder of the array cannot be written", error)
            return
        _submit(site, cluster, array)
    elif jobs:
        _submit(site, cluster, next(iter(jobs.values())))


def _prepare(site: Site, taken: Sequence[Run]) -> dict[int, Job]:
    """The runs' folders, written; a run whose folder cannot be written fails alone."""
    with ThreadPoolExecutor(min(WRITERS, len(taken))) as writers:
        tried = list(writers.map(lambda run: _prepare_one(site, run), taken))
    jobs: dict[int, Job] = {}
    for run, job in zip(taken, tried, strict=True):
        if isinstance(job, Job):
            jobs[run.task or 0] = job
        else:
            reason = f"the run folder cannot be written: {job}"
            with transaction(site.engine) as db:
                if job.errno in FULL_DISK:
                    runs.move(db, run, State.QUEUED, reason=reason, not_before=now() + FULL_FOR)
                else:
                    runs.move(db, run, State.FAILED, reason=reason)
    return jobs


def _prepare_one(site: Site, run: Run) -> Job | OSError:
    job = site.job_of(run)
    try:
        job.folder.prepare(job.spec, job.attempt)
    except OSError as error:
        return error
    return job


def _submit(site: Site, cluster: Cluster, job: Job | Array) -> None:
    """Hand it to its cluster, outside any transaction, and store what came of it."""
    with transaction(site.engine) as db:
        if not launches.still_ours(db, job.name):
            return  # it was given up while its folders were written
    try:
        job_id = cluster.submit(job)
    except (BusyError, FullError) as full:
        waits = FULL_FOR if isinstance(full, FullError) else timedelta(0)
        with transaction(site.engine) as db:  # surely nothing was taken
            launches.move_named(db, job.name, State.QUEUED, reason=str(full), not_before=now() + waits)
    except RefusedError as error:
        _fail(site, job.name, f"{job.spec.resources.kind} refused the job: {error}")
    except Exception as doubt:
        # perhaps it has the job: `recover` asks for it by name before anybody submits again
        log.warning("%s: whether it was submitted is not known: %s", job.name, doubt)
    else:
        _store(site, cluster, job, job_id)


def _store(site: Site, cluster: Cluster, job: Job | Array, job_id: str) -> None:
    with transaction(site.engine) as db:
        ours = launches.place(db, job.name, job_id)
    if ours:
        return
    with snapshot(site.engine) as db:
        adopted = any(launches.is_of(run, job_id) for run in launches.named(db, job.name))
    if not adopted:
        log.warning("%s was given up while it was submitted: job %s is cancelled", job.name, job_id)
        cluster.cancel([Held(job_id, job.name)])


def _put_back(site: Site, name: str, what: str, error: OSError) -> None:
    """A disk that is full may have room soon; what else is wrong with a folder stays wrong."""
    if error.errno not in FULL_DISK:
        _fail(site, name, f"{what}: {error}")
        return
    with transaction(site.engine) as db:
        launches.move_named(db, name, State.QUEUED, reason=f"{what}: {error}", not_before=now() + FULL_FOR)


def _fail(site: Site, name: str, reason: str) -> None:
    with transaction(site.engine) as db:
        launches.move_named(db, name, State.FAILED, reason=reason)
