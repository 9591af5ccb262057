"""Carry out the stops that were asked for, whatever state the run is in."""

from collections import defaultdict

from contract.run import LIVE, State
from scheduler.ending import end
from scheduler.site import Site
from store import runs
from store.session import snapshot, transaction
from store.tables import Run


def stop(site: Site) -> None:
    """Cancel what waits here, ask the clusters to end the rest; `collect` sees them gone.

    A run in submission has no id yet: it is asked to end as soon as it has one (scheduler/recover.py sees to that).
    """
    with snapshot(site.engine) as db:
        wanted = list(runs.unstopped(db))
    queued = [run for run in wanted if run.state == State.QUEUED]
    if queued:
        with transaction(site.engine) as db:
            for run in queued:
                runs.move(db, run, State.CANCELLED, reason=run.stop_reason)
    jobs: dict[str, list[Run]] = defaultdict(list)
    for run in wanted:
        if run.state in LIVE and run.gone_reason is None:
            jobs[run.cluster].append(run)
    for kind, several in jobs.items():
        end(site, kind, several)
