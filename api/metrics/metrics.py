"""The metrics endpoint for Prometheus."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from api.database import Reading
from api.http.statuses import problems
from api.metrics.collector import DatabaseCollector

router = APIRouter(tags=["service"])


@router.get("/metrics", response_class=PlainTextResponse, responses=problems(503))
def get_metrics(db: Reading, request: Request) -> PlainTextResponse:
    """Return the metrics in Prometheus's text format: those of the database, and the latencies of this process."""
    stored = CollectorRegistry()
    stored.register(DatabaseCollector(db))
    text = generate_latest(stored) + generate_latest(request.app.state.latencies)
    return PlainTextResponse(text, media_type=CONTENT_TYPE_PLAIN_0_0_4)
