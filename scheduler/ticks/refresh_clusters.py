"""Write down what each cluster says of itself, for those who may not ask it."""

import logging
from datetime import timedelta

from scheduler.clusters.cluster import BusyError, DoubtError
from scheduler.context import Site
from store import clusters
from store.session import snapshot, transaction
from store.tables import now

SERVES = timedelta(seconds=30)  # what a Slurm has said of itself; its commands cost others
log = logging.getLogger(__name__)


def observe(site: Site) -> None:
    """Store one report per cluster, or why there is none."""
    with snapshot(site.engine) as db:
        asked = {row.kind: row.asked_at for row in clusters.all_of(db)}
    told = []
    for kind, cluster in site.clusters.items():
        if not cluster.is_here and kind in asked and timedelta(0) <= now() - asked[kind] < SERVES:
            continue
        report, error = None, None
        try:
            report = cluster.report()
        except BusyError:
            if kind in asked:
                continue  # it was asked a lot, about jobs: people can wait
            error = "it was asked too much to tell yet"
        except DoubtError as doubt:
            error = str(doubt)
        except Exception as surprise:  # an answer of no known shape: say so on the page, not in a log alone
            log.exception("%s could not be understood", kind)
            error = f"its answer could not be understood: {surprise}"
        told.append((kind, report, error))
    # all at once: while only some are known, the API would refuse what the others could carry out
    with transaction(site.engine) as db:
        for kind, report, error in told:
            clusters.put(db, kind, report, error)
        clusters.drop_others(db, list(site.clusters))
