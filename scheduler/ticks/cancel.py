"""The cancel tick: carry out the stops that were requested, whatever state the run is in."""

import time
from collections import defaultdict

from scheduler.context import Context
from scheduler.jobs.terminate import terminate
from store import runs, transitions
from store.session import snapshot, transaction
from store.tables.runs import Run

BUDGET_S = 0.5  # a tick is short; the next one goes on
BATCH = 1000  # runs in a transaction: other writers wait for its end


def cancel(context: Context) -> None:
    """Cancel queued runs, and ask the clusters to end the jobs of live ones; `ingest` sees these end.

    A run in submission has no external id yet: the tick after its submission asks its job to end. A fault of one
    cluster does not hold up the stops of another one, nor those of queued runs; the faults are raised at the end.
    """
    with snapshot(context.engine) as db:
        live, remaining = runs.stop_requested(db), runs.any_queued_stop(db)
    by_cluster: dict[str, list[Run]] = defaultdict(list)
    for run in live:
        by_cluster[run.cluster].append(run)
    faults = []
    for kind, several in by_cluster.items():
        try:
            terminate(context, kind, several)
        except Exception as error:
            faults.append(error)
    until = time.monotonic() + BUDGET_S
    while remaining and time.monotonic() < until:
        with transaction(context.engine) as db:
            remaining = transitions.cancel_queued(db, BATCH) == BATCH
    if faults:
        raise ExceptionGroup("runs of some clusters could not be asked to stop", faults)
