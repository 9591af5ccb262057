"""Bring queued runs to their clusters, each exactly once however many launchers there are."""

import logging
import time

from contract.run import State
from scheduler.clusters.cluster import Cluster, DoubtError, Job, RefusedError
from scheduler.site import Site
from store import runs
from store.session import snapshot, transaction
from store.tables import Run

BUDGET_S = 20.0  # a tick is short; what is left over is for the next one
log = logging.getLogger(__name__)


def launch(site: Site) -> None:
    """Submit queued runs, oldest first, while there is room and time."""
    with snapshot(site.engine) as db:
        queued = list(runs.in_state(db, State.QUEUED))
    until = time.monotonic() + BUDGET_S
    for run in queued:
        if time.monotonic() > until:
            break
        cluster = site.clusters.get(run.cluster)
        if cluster and _take(site, run):
            _submit(site, cluster, run)


def _take(site: Site, run: Run) -> bool:
    """Make the run ours alone; False when there is no room for it or another launcher was first."""
    with transaction(site.engine) as db:
        if run.cluster == "local":
            busy = runs.busy_ranks(db, "local")
            # a run wider than this machine gets it to itself
            if busy and busy + run.world > site.local_ranks:
                return False
        return runs.move(db, run, State.SUBMITTING, attempt=run.attempt + 1)


def _submit(site: Site, cluster: Cluster, run: Run) -> None:
    """Hand the run to its cluster, outside any transaction, and store what came of it."""
    job = site.job_of(run)
    try:
        job.folder.prepare(job.spec)
        job_id = cluster.submit(job)
    except OSError as error:
        _fail(site, run, f"the run folder cannot be written: {error}")
    except RefusedError as error:
        _fail(site, run, f"{run.cluster} refused the job: {error}")
    except DoubtError as doubt:
        # perhaps it has the job: `recover` asks for it by name before anybody submits again
        log.warning("run %d: %s", run.id, doubt)
    else:
        _store(site, cluster, run, job, job_id)


def _store(site: Site, cluster: Cluster, run: Run, job: Job, job_id: str) -> None:
    with transaction(site.engine) as db:
        ours = runs.move(db, run, State.PENDING, job_id=job_id)
    if not ours:
        log.warning("%s was given up while it was submitted: job %s is cancelled", job.name, job_id)
        cluster.cancel([job_id])


def _fail(site: Site, run: Run, reason: str) -> None:
    with transaction(site.engine) as db:
        runs.move(db, run, State.FAILED, reason=reason)
