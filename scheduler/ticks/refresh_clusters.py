"""The refresh tick: store a report of each cluster, for the API, which calls no cluster."""

import logging
from datetime import timedelta

from contract.api.cluster_report import ClusterReport
from scheduler.clusters.cluster import BackingOffError, Cluster, NoAnswerError, RateLimitedError, UnreadableReportError
from scheduler.context import Context
from store import clusters
from store.session import snapshot, transaction
from store.tables.base import now

FRESH_FOR = timedelta(seconds=30)  # a Slurm's report; its commands cost other users
SILENT_FOR = timedelta(seconds=90)  # a cluster that does not answer for so long gets an error: its report is not late
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
        except RateLimitedError as limited:
            is_outage = isinstance(limited, BackingOffError)
            if kind in asked and not (is_outage and now() - asked[kind] > SILENT_FOR):
                continue  # the next tick asks again
            report = None
            error = str(limited) if is_outage else "the rate limit of its commands leaves no call for a report yet"
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
    except UnreadableReportError as error:
        return None, f"{clusters.UNREADABLE}: {error}"
    except NoAnswerError as error:
        return None, str(error)
    except Exception as error:  # an answer of an unknown form: the page shows it, not only a log
        log.exception("%s gave an answer of an unknown form", kind)
        return None, f"{clusters.UNREADABLE}: {error}"
