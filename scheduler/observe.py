"""Write down what each cluster says of itself, for those who may not ask it."""

import logging

from scheduler.clusters.cluster import DoubtError
from scheduler.site import Site
from store import clusters
from store.session import transaction

log = logging.getLogger(__name__)


def observe(site: Site) -> None:
    """Store one report per cluster, or why there is none."""
    for kind, cluster in site.clusters.items():
        report, error = None, None
        try:
            report = cluster.report()
        except DoubtError as doubt:
            error = str(doubt)
        except Exception as surprise:  # an answer of no known shape: say so on the page, not in a log alone
            log.exception("%s could not be understood", kind)
            error = f"its answer could not be understood: {surprise}"
        with transaction(site.engine) as db:
            clusters.put(db, kind, report, error)
    with transaction(site.engine) as db:
        clusters.drop_others(db, list(site.clusters))
