"""End the jobs on this machine when the service on it goes down; jobs on Slurm go on and are found again."""

import time
from datetime import timedelta

from contract.lifecycle.state import LIVE
from scheduler.context import Site, held
from scheduler.ticks.ingest import collect
from scheduler.ticks.recover import recover
from store import runs
from store.session import snapshot, transaction
from store.tables import Run

PATIENCE_S = 10.0


def close(site: Site) -> None:
    """Stop every local job, by force where asking does not help, and store what it said last.

    The worker has ended: what it left in submission is adopted first, so that no job stays without a run.
    """
    recover(site, timedelta(0))
    with transaction(site.engine) as db:
        mine = [run for run in runs.in_state(db, *LIVE) if run.cluster == "local" and run.job_id]
        ids = [run.id for run in mine]
        runs.want_stop(db, Run.id.in_(ids), "the service on this machine was shut down")
    jobs, until = [held(run) for run in mine], time.monotonic() + PATIENCE_S
    while _live(site, ids):
        site.clusters["local"].cancel(jobs, force=time.monotonic() > until)
        time.sleep(0.2)
        collect(site)


def _live(site: Site, ids: list[int]) -> bool:
    with snapshot(site.engine) as db:
        return any(run.id in ids for run in runs.in_state(db, *LIVE))
