"""Runs whose launcher died, or was left in doubt, between taking them and storing their job's id."""

import logging
from datetime import timedelta

from contract.run import State
from scheduler.clusters.cluster import DoubtError
from scheduler.clusters.slurm_commands import PATIENCE_S
from scheduler.site import Site
from store import runs
from store.session import snapshot, transaction
from store.tables import Run, now

# longer than any submission may take, so that nobody who is still submitting is overtaken
PATIENCE = timedelta(seconds=PATIENCE_S + 10)
MAX_ATTEMPTS = 5
log = logging.getLogger(__name__)


def recover(site: Site, patience: timedelta = PATIENCE) -> None:
    """Adopt the job of every run that is stuck in submission, or queue the run again when there surely is none."""
    with snapshot(site.engine) as db:
        stuck = [run for run in runs.in_state(db, State.SUBMITTING) if now() - run.moved_at > patience]
    for run in stuck:
        try:
            _recover_one(site, run)
        except DoubtError as doubt:
            log.warning("run %d: whether it was submitted is not known yet: %s", run.id, doubt)


def _recover_one(site: Site, run: Run) -> None:
    job = site.job_of(run)
    cluster = site.clusters.get(run.cluster)
    found = cluster.find(job) if cluster else None
    # a job that has come and gone already left its claim
    job_id = found or job.folder.claimed_by(run.attempt)
    with transaction(site.engine) as db:
        if job_id:
            runs.move(db, run, State.PENDING, job_id=job_id, reason="found by its name")
        elif run.stop_wanted_at:
            runs.move(db, run, State.CANCELLED, reason=run.stop_reason)
        elif run.attempt >= MAX_ATTEMPTS:
            runs.move(db, run, State.FAILED, reason=f"{run.cluster} did not take the job in {run.attempt} attempts")
        else:
            runs.move(db, run, State.QUEUED, reason="its submission was lost")
