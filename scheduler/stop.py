"""Carry out the stops that were asked for, whatever state the run is in."""

from collections import defaultdict
from datetime import timedelta

from contract.run import LIVE, State
from scheduler.clusters.cluster import DoubtError
from scheduler.site import Site
from store import runs
from store.session import snapshot, transaction
from store.tables import Run, now

GRACE = timedelta(seconds=15)  # between asking a job to end and making it


def stop(site: Site) -> None:
    """Cancel what waits here, ask the clusters to end the rest; `collect` sees them gone."""
    with snapshot(site.engine) as db:
        wanted = list(runs.unstopped(db))
    jobs: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for run in wanted:
        if run.state == State.QUEUED:
            _cancel_queued(site, run)
        elif run.state in LIVE and run.job_id and run.stop_wanted_at:
            jobs[run.cluster, now() - run.stop_wanted_at > GRACE].append(run.job_id)
    for (kind, force), job_ids in jobs.items():
        _cancel(site, kind, job_ids, force)


def _cancel_queued(site: Site, run: Run) -> None:
    with transaction(site.engine) as db:
        runs.move(db, run, State.CANCELLED, reason=run.stop_reason)


def _cancel(site: Site, kind: str, job_ids: list[str], force: bool) -> None:
    try:
        if cluster := site.clusters.get(kind):
            cluster.cancel(job_ids, force=force)
    except DoubtError:
        pass  # the wish stands in the database: the next tick asks again
