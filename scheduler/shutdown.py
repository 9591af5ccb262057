"""Shutdown: pause the jobs on this machine when its service stops; the next start resumes their runs.

Jobs on Slurm go on and are found again, and so do runs that somebody carries out by hand.
"""

import time
from datetime import timedelta

from contract.folder.job_identity import is_manual_job
from contract.lifecycle.reason import StopSource
from contract.lifecycle.state import LIVE
from scheduler.context import Context, handle_of
from scheduler.ticks.ingest import ingest
from scheduler.ticks.reap import reap
from scheduler.ticks.recover import recover
from store import runs
from store.session import snapshot, transaction
from store.tables.runs import Run

GRACE_S = 20.0  # for the checkpoint; a rank leaves by itself 25 s after SIGTERM


def shut_down(context: Context) -> None:
    """Pause every local job, by force if asking does not help, and queue the runs for the next start.

    The worker has ended: jobs that it left in submission are adopted first, so that no job stays without a run.
    """
    if "local" not in context.clusters:
        return
    recover(context, timedelta(0))
    with transaction(context.engine) as db:
        live = [run for run in runs.in_state(db, *LIVE) if run.cluster == "local"]
        mine = {
            run.id: job
            for run in live
            if (job := run.current_job) and job.external_id and not is_manual_job(job.external_id)
        }
        runs.request_stop(db, Run.id.in_(list(mine)), StopSource.SHUTDOWN)
    handles, until = [handle_of(job) for job in mine.values()], time.monotonic() + GRACE_S
    context.clusters["local"].cancel(handles)  # once, because a rank takes a repeated SIGTERM for an order to leave
    while _any_live(context, list(mine)):
        if time.monotonic() > until:
            context.clusters["local"].cancel(handles, force=True)
        time.sleep(0.2)
        ingest(context)
    reap(context)  # the next start need not wait for jobs that have left


def _any_live(context: Context, run_ids: list[int]) -> bool:
    with snapshot(context.engine) as db:
        return any(run.id in run_ids for run in runs.in_state(db, *LIVE))
