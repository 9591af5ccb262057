"""The metrics endpoint for Prometheus: runs in each state, and calls of the clusters' commands."""

from collections.abc import Iterator

from fastapi import APIRouter
from fastapi.responses import PlainTextResponse
from sqlalchemy.orm import Session

from api.database import Reading
from api.http.statuses import problems
from contract.lifecycle.state import State
from store import rate_limit, runs
from store.tables import CallCount

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
    for row in called:
        yield f"bigbatch_cluster_calls_total{_labels(row)} {row.count}"
    yield from _head("bigbatch_cluster_call_seconds_total", "counter", "seconds that these calls took")
    for row in called:
        yield f"bigbatch_cluster_call_seconds_total{_labels(row)} {row.seconds:.6f}"
    yield from _head("bigbatch_cluster_calls_last_minute", "gauge", "calls of the last 60 s")
    allowed = rate_limit.used_slots(db)
    for cluster, (used, _) in allowed.items():
        yield f'bigbatch_cluster_calls_last_minute{{cluster="{cluster}"}} {used}'
    yield from _head("bigbatch_cluster_calls_per_minute_allowed", "gauge", "calls that any 60 s may hold")
    for cluster, (_, most) in allowed.items():
        yield f'bigbatch_cluster_calls_per_minute_allowed{{cluster="{cluster}"}} {most}'


def _head(name: str, kind: str, meaning: str) -> tuple[str, str]:
    return f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"


def _labels(row: CallCount) -> str:
    return f'{{cluster="{row.cluster}",command="{row.command}",outcome="{row.outcome}"}}'
