"""Bring queued runs to their clusters, each exactly once however many launchers there are."""

import logging
import time

from contract.run import State
from scheduler.clusters.cluster import Cluster, Job, RefusedError
from scheduler.site import Site
from store import runs
from store.session import snapshot, transaction
from store.tables import Run

BUDGET_S = 20.0  # a tick is short; what is left over is for the next one
AT_ONCE = 200  # queued runs that one tick looks at
log = logging.getLogger(__name__)


def launch(site: Site) -> None:
    """Submit queued runs, oldest first, while there is room and time."""
    until = time.monotonic() + BUDGET_S
    for kind, cluster in site.clusters.items():
        with snapshot(site.engine) as db:
            queued = list(runs.queued(db, kind, AT_ONCE))
        for run in queued:
            # no younger run overtakes one that waits for room
            if time.monotonic() > until or not _has_room(site, run):
                break
            if _take(site, run):
                _submit(site, cluster, run)


def _has_room(site: Site, run: Run) -> bool:
    if run.cluster != "local":
        return True  # Slurm has a queue of its own
    with snapshot(site.engine) as db:
        busy = runs.busy_ranks(db, "local")
    # a run wider than this machine gets it to itself
    return not busy or busy + run.world <= site.local_ranks


def _take(site: Site, run: Run) -> bool:
    """Make the run ours alone; False when another launcher was first, or a stop."""
    with transaction(site.engine) as db:
        if db.get_one(Run, run.id).stop_wanted_at:
            return False
        return runs.move(db, run, State.SUBMITTING, attempt=run.attempt + 1)


def _submit(site: Site, cluster: Cluster, run: Run) -> None:
    """Hand the run to its cluster, outside any transaction, and store what came of it."""
    try:
        job = site.job_of(run)
        job.folder.prepare(job.spec)
    except OSError as error:
        _fail(site, run, f"the run folder cannot be written: {error}")
        return
    try:
        job_id = cluster.submit(job)
    except RefusedError as error:
        _fail(site, run, f"{run.cluster} refused the job: {error}")
    except Exception as doubt:
        # perhaps it has the job: `recover` asks for it by name before anybody submits again
        log.warning("run %d: whether it was submitted is not known: %s", run.id, doubt)
    else:
        _store(site, cluster, run, job, job_id)


def _store(site: Site, cluster: Cluster, run: Run, job: Job, job_id: str) -> None:
    with transaction(site.engine) as db:
        ours = runs.move(db, run, State.PENDING, job_id=job_id)
        adopted = not ours and db.get_one(Run, run.id).job_id == job_id
    if not ours and not adopted:
        log.warning("%s was given up while it was submitted: job %s is cancelled", job.name, job_id)
        cluster.cancel([job_id])


def _fail(site: Site, run: Run, reason: str) -> None:
    with transaction(site.engine) as db:
        runs.move(db, run, State.FAILED, reason=reason)
