"""Write down what each cluster says of itself, for those who may not ask it."""

from scheduler.clusters.cluster import DoubtError
from scheduler.site import Site
from store import clusters
from store.session import transaction


def observe(site: Site) -> None:
    """Store one report per cluster, or why there is none."""
    for kind, cluster in site.clusters.items():
        report, error = None, None
        try:
            report = cluster.report()
        except DoubtError as doubt:
            error = str(doubt)
        with transaction(site.engine) as db:
            clusters.put(db, kind, report, error)
    with transaction(site.engine) as db:
        clusters.drop_others(db, list(site.clusters))
