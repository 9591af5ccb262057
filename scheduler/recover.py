"""Runs whose launcher died, or was left in doubt, between taking them and storing their job's id."""

import logging
from datetime import timedelta

from contract.run import State
from scheduler.clusters.cluster import DoubtError, Job
from scheduler.clusters.slurm_commands import PATIENCE_S
from scheduler.site import Site
from store import runs
from store.session import snapshot, transaction
from store.tables import Run, now

# longer than any submission may take, so that nobody who is still submitting is overtaken
PATIENCE = timedelta(seconds=PATIENCE_S + 10)
MAX_ATTEMPTS = 5
GIVEN_UP = "nobody: its submission was given up"
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
        except Exception:  # one run's trouble must not keep the others stuck
            log.exception("run %d could not be recovered", run.id)


def _recover_one(site: Site, run: Run) -> None:
    cluster = site.clusters.get(run.cluster)
    if not cluster:
        return  # another worker may have that cluster; not to have it says nothing about the job
    job = site.job_of(run)
    job_id = cluster.find(job) or _take_claim(job)
    with transaction(site.engine) as db:
        if job_id:
            runs.move(db, run, State.PENDING, job_id=job_id, reason="found by its name")
        elif run.stop_wanted_at:
            runs.move(db, run, State.CANCELLED, reason=run.stop_reason)
        elif (lost := 1 + runs.times(db, run, State.SUBMITTING, State.QUEUED)) >= MAX_ATTEMPTS:
            runs.move(db, run, State.FAILED, reason=f"{run.cluster} did not take the job in {lost} attempts")
        else:
            runs.move(db, run, State.QUEUED, reason="its submission was lost")


def _take_claim(job: Job) -> str | None:
    """Claim the attempt, so that a job that the cluster takes after all leaves at once; else return who has it.

    A controller that was slow may accept long after its client gave up, and a job may have come and gone unseen.
    """
    job.folder.prepare(job.spec)
    holder = job.folder.claim(job.attempt, GIVEN_UP)
    return holder if holder != GIVEN_UP else None
