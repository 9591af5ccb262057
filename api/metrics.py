"""The metrics endpoint for Prometheus: runs in each state, and calls of the clusters' commands."""

from collections.abc import Iterator, Sequence

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from sqlalchemy.orm import Session

from api.database import Reading
from api.http.statuses import problems
from contract.lifecycle.state import State
from store import clusters, rate_limit, runs
from store.rate_limit import KindUse
from store.tables import CallCount, now

router = APIRouter(tags=["service"])
TYPE = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/metrics", response_class=PlainTextResponse, responses=problems(503))
def get_metrics(db: Reading) -> PlainTextResponse:
    """Return the metrics in Prometheus's text format."""
    return PlainTextResponse("".join(f"{line}\n" for line in _lines(db)), media_type=TYPE)


def _lines(db: Session) -> Iterator[str]:
    yield from _head("bigbatch_runs", "gauge", "runs in each state")
    counts = runs.counts(db)
    for state in State:
        yield f'bigbatch_runs{{state="{state}"}} {counts.get(state, 0)}'
    called = rate_limit.call_counts(db)
    yield from _head("bigbatch_cluster_calls_total", "counter", "calls of a cluster's commands")
    for count in called:
        yield f"bigbatch_cluster_calls_total{_labels(count)} {count.count}"
    yield from _head("bigbatch_cluster_call_seconds_total", "counter", "seconds that these calls took")
    for count in called:
        yield f"bigbatch_cluster_call_seconds_total{_labels(count)} {count.seconds:.6f}"
    yield from _head("bigbatch_cluster_calls_last_minute", "gauge", "calls of the last 60 s")
    allowed = rate_limit.used_slots(db)
    for cluster, (used, _) in allowed.items():
        yield f'bigbatch_cluster_calls_last_minute{{cluster="{cluster}"}} {used}'
    yield from _head("bigbatch_cluster_calls_per_minute_allowed", "gauge", "calls that any 60 s may hold")
    for cluster, (_, most) in allowed.items():
        yield f'bigbatch_cluster_calls_per_minute_allowed{{cluster="{cluster}"}} {most}'
    yield from _kind_lines(rate_limit.kind_uses(db))
    yield from _head(
        "bigbatch_cluster_report_age_seconds", "gauge", "seconds since a cluster was last asked for a report"
    )
    for row in clusters.reports(db):
        age_s = max(0.0, (now() - row.asked_at).total_seconds())
        yield f'bigbatch_cluster_report_age_seconds{{cluster="{row.kind}"}} {age_s:.3f}'


def _kind_lines(uses: Sequence[KindUse]) -> Iterator[str]:
    labels = {use: f'{{cluster="{use.cluster}",kind="{use.kind}"}}' for use in uses}
    yield from _head("bigbatch_cluster_calls_reserved", "gauge", "calls of any 60 s that only this kind may make")
    for use in uses:
        yield f"bigbatch_cluster_calls_reserved{labels[use]} {use.reserve}"
    yield from _head("bigbatch_cluster_kind_calls_last_minute", "gauge", "calls of this kind in the last 60 s")
    for use in uses:
        yield f"bigbatch_cluster_kind_calls_last_minute{labels[use]} {use.used}"
    yield from _head("bigbatch_cluster_kind_age_seconds", "gauge", "seconds since the last call of this kind")
    for use in uses:
        if use.age_s is not None:
            yield f"bigbatch_cluster_kind_age_seconds{labels[use]} {use.age_s:.3f}"


def _head(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"


def _labels(row: CallCount) -> str:
    return f'{{cluster="{row.cluster}",command="{row.command}",outcome="{row.outcome}"}}'
