"""Carry out the stops that were asked for, whatever state the run is in."""

import time
from collections import defaultdict

from scheduler.context import Site
from scheduler.jobs.terminate import end
from store import stops
from store.session import snapshot, transaction
from store.tables import Run

BUDGET_S = 0.5  # a tick is short: what is left over is for the next one
AT_ONCE = 1000  # runs in a transaction: whoever else writes waits for its end


def stop(site: Site) -> None:
    """Cancel what waits here, ask the clusters to end the rest; `collect` sees them gone.

    A run in submission has no id yet: it is asked to end as soon as it has one (scheduler/ticks/recover.py sees
    to that).
    """
    with snapshot(site.engine) as db:
        live, some_wait = stops.live(db), stops.any_queued(db)
    jobs: dict[str, list[Run]] = defaultdict(list)
    for run in live:
        jobs[run.cluster].append(run)
    for kind, several in jobs.items():
        end(site, kind, several)
    until = time.monotonic() + BUDGET_S
    while some_wait and time.monotonic() < until:
        with transaction(site.engine) as db:
            some_wait = stops.cancel_queued(db, AT_ONCE) == AT_ONCE
