"""Jobs that outlive their runs: a rank that hangs after its last word would hold its nodes until the time limit."""

from collections import defaultdict
from datetime import timedelta

from contract.lifecycle.state import ENDED, State
from scheduler.clusters.cluster import Alive, Gone
from scheduler.context import Site
from scheduler.jobs.status import answers
from scheduler.jobs.terminate import end
from scheduler.outcome.retry import SUSPECTED
from store import runs
from store.session import snapshot, transaction
from store.tables import Run, now

GRACE = timedelta(seconds=40)  # to clean up after the last word; srun gives ranks that hang 32 s (KillWait, and two)
FORCE = timedelta(seconds=30)  # after that, between asking and killing
AT_ONCE = 500


def sweep(site: Site) -> None:
    """Note which jobs of ended runs are gone, and end those that stay."""
    with snapshot(site.engine) as db:
        ended = list(runs.with_leftover_jobs(db, AT_ONCE))
    by_cluster: dict[str, list[Run]] = defaultdict(list)
    for run in ended:
        by_cluster[run.cluster].append(run)
    for kind, left in by_cluster.items():
        if kind in site.clusters:
            _sweep_one(site, kind, left)


def _sweep_one(site: Site, kind: str, left: list[Run]) -> None:
    told = answers(site, kind, left)
    # of a paused run `collect` sees the end, and queues it again
    gone = [run.id for run in left if run.state in ENDED and isinstance(told[run.id], Gone)]
    if gone:
        with transaction(site.engine) as db:
            runs.note_gone(db, gone)
    stay = [run for run in left if isinstance(told[run.id], Alive) and now() - run.moved_at > _patience(site, run)]
    end(site, kind, stay, FORCE)


def _patience(site: Site, run: Run) -> timedelta:
    """A run that said it failed leaves ranks that wait for each other; any other cleans up."""
    cluster = site.clusters[run.cluster]
    waits = run.state == State.FAILED or (run.state == State.PAUSED and run.own_cause == SUSPECTED)
    return timedelta(0) if waits and not cluster.is_here else GRACE
