"""The reap tick: end jobs that outlive their runs. A rank that hangs would hold its nodes until the time limit."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta

from contract.lifecycle.state import ENDED, State
from scheduler.clusters.cluster import Alive, Gone
from scheduler.context import Context
from scheduler.jobs.status import status_of_jobs
from scheduler.jobs.terminate import terminate
from scheduler.outcome.exit_cause import SUSPECTED
from store import jobs, runs
from store.session import snapshot, transaction
from store.tables import Job, Run, now

GRACE = timedelta(seconds=40)  # for cleaning up; srun gives ranks that hang 32 s (KillWait, and two)
KILL_AFTER = timedelta(seconds=30)  # from the request to the kill
BATCH = 500


def reap(context: Context) -> None:
    """Store which jobs of ended runs are gone, and end those that stay."""
    with snapshot(context.engine) as db:
        ended = runs.with_open_jobs(db, BATCH)
    by_cluster: dict[str, list[tuple[Run, Job]]] = defaultdict(list)
    for run in ended:
        if run.current_job:
            by_cluster[run.cluster].append((run, run.current_job))
    for kind, pairs in by_cluster.items():
        if kind in context.clusters:
            _reap_one(context, kind, pairs)


def _reap_one(context: Context, kind: str, pairs: Sequence[tuple[Run, Job]]) -> None:
    status = status_of_jobs(context, kind, [job for _, job in pairs])
    # the end of a paused run's job is for `ingest`, which queues the run again
    gone = [job.id for run, job in pairs if run.state in ENDED and isinstance(status[job.id], Gone)]
    if gone:
        with transaction(context.engine) as db:
            jobs.write_gone(db, gone)
    overdue = [
        run
        for run, job in pairs
        if isinstance(status[job.id], Alive) and now() - run.moved_at > _grace(context, run, job)
    ]
    terminate(context, kind, overdue, KILL_AFTER)


def _grace(context: Context, run: Run, job: Job) -> timedelta:
    """Return no grace for a run that reported a failure, whose ranks wait for each other: nothing is cleaned up."""
    is_waiting = run.state is State.FAILED or (run.state is State.PAUSED and job.reported_cause is SUSPECTED)
    return timedelta(0) if is_waiting and not context.clusters[run.cluster].is_local else GRACE
