"""Jobs that outlive their runs: a rank that hangs after its last word would hold its nodes until the time limit."""

from collections import defaultdict
from datetime import timedelta

from contract.run import ENDED
from scheduler.clusters.cluster import Alive, DoubtError, Gone
from scheduler.site import Site
from store import runs
from store.session import snapshot, transaction
from store.tables import Run, now

GRACE = timedelta(seconds=30)  # to clean up after the last word
FORCE = timedelta(seconds=60)
AT_ONCE = 500


def sweep(site: Site) -> None:
    """Note which jobs of ended runs are gone, and end those that stay."""
    with snapshot(site.engine) as db:
        ended = list(runs.with_leftover_jobs(db, AT_ONCE))
    by_cluster: dict[str, list[Run]] = defaultdict(list)
    for run in ended:
        by_cluster[run.cluster].append(run)
    for kind, left in by_cluster.items():
        _sweep_one(site, kind, left)


def _sweep_one(site: Site, kind: str, left: list[Run]) -> None:
    cluster = site.clusters.get(kind)
    if not cluster:
        return
    answers = cluster.ask([str(run.job_id) for run in left])
    # of a paused run `collect` sees the end, and queues it again
    ended = [run for run in left if run.state in ENDED]
    gone = [run.id for run in ended if isinstance(answers[str(run.job_id)], Gone)]
    if gone:
        with transaction(site.engine) as db:
            runs.note_gone(db, gone)
    for run in left:
        since = now() - run.moved_at
        if isinstance(answers[str(run.job_id)], Alive) and since > GRACE:
            try:
                cluster.cancel([str(run.job_id)], force=since > FORCE)
            except DoubtError:
                continue  # the next tick asks again
