"""The refresh tick: store a report of each cluster, for the API, which calls no cluster."""

import logging
from datetime import timedelta

from contract.api.cluster_report import ClusterReport
from scheduler.clusters.cluster import BackingOffError, Cluster, NoAnswerError, RateLimitedError
from scheduler.context import Context
from store import clusters
from store.session import snapshot, transaction
from store.tables import now

FRESH_FOR = timedelta(seconds=30)  # a Slurm's report; its commands cost other users
log = logging.getLogger(__name__)


def refresh_clusters(context: Context) -> None:
    """Store one report per cluster, or why there is none."""
    with snapshot(context.engine) as db:
        asked = {row.kind: row.asked_at for row in clusters.reports(db)}
    answers = []
    for kind, cluster in context.clusters.items():
        if not cluster.is_local and kind in asked and timedelta(0) <= now() - asked[kind] < FRESH_FOR:
            continue
        try:
            report, error = _ask(kind, cluster)
        except BackingOffError as doubt:  # the report is not late: its cluster does not answer
            report, error = None, str(doubt)
        except RateLimitedError:
            if kind in asked:
                continue  # the next tick asks again
            report, error = None, "the rate limit of its commands leaves no call for a report yet"
        answers.append((kind, report, error))
    # all in one transaction: while only some clusters are stored, the API would refuse specs for the others
    with transaction(context.engine) as db:
        for kind, report, error in answers:
            clusters.store_report(db, kind, report, error)
        clusters.delete_others(db, list(context.clusters))


def _ask(kind: str, cluster: Cluster) -> tuple[ClusterReport | None, str | None]:
    try:
        return cluster.report(), None
    except RateLimitedError:
        raise
    except NoAnswerError as error:
        return None, str(error)
    except Exception as error:  # an answer of an unknown form: the page shows it, not only a log
        log.exception("%s gave an answer of an unknown form", kind)
        return None, f"its answer has an unknown form: {error}"
