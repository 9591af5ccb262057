"""Jobs that a person has started on this machine: `python -m trainers FOLDER` carries the next attempt out by hand.

Such a job claims the attempt as any job does. The job that the service submits for the attempt finds the claim and
leaves, and the service goes on with the job that holds the claim.
"""

import logging

from contract.folder.job_identity import CLAIM_REFUSED_EXIT_CODE, is_manual_job
from contract.folder.run_folder import RunFolder
from scheduler.clusters.cluster import Gone, JobStatus
from scheduler.context import Context
from store import jobs
from store.runs import LiveRun
from store.session import transaction

log = logging.getLogger(__name__)


def adopt_manual_job(context: Context, folder: RunFolder, run: LiveRun, status: JobStatus) -> bool:
    """Take the job that a person has started in the place of the run's own; return whether there is one."""
    is_refused = isinstance(status, Gone) and status.end.exit_code == CLAIM_REFUSED_EXIT_CODE
    if not is_refused or run.external_id is None or is_manual_job(run.external_id):
        return False
    holder = folder.read_claim(run.attempt)
    if holder is None or not is_manual_job(holder):
        return False
    log.info("attempt %d of run %d is carried out by hand: %s", run.attempt, run.id, holder)
    with transaction(context.engine) as db:
        jobs.write_manual_job(db, run.job_id, refused=run.external_id, manual=holder)
    return True
