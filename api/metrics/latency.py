"""The latencies of this process's requests, by operation."""

import time

from prometheus_client import CollectorRegistry, Histogram
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BUCKETS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0)
EVENTS = "text/event-stream"  # an open page is no slow request


def latency_histogram(registry: CollectorRegistry) -> Histogram:
    """Return a histogram in the registry."""
    name, meaning = "bigbatch_api_request_seconds", "seconds until a request was answered completely"
    return Histogram(name, meaning, ["operation", "status"], buckets=BUCKETS, registry=registry)


class LatencyMiddleware:
    """ASGI middleware that measures the requests that reach an operation, by the id of the operation."""

    def __init__(self, app: ASGIApp, *, histogram: Histogram) -> None:
        self.app, self._histogram = app, histogram

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry out the request and measure it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, is_stream, began = 500, False, time.perf_counter()

        async def note_status(message: Message) -> None:
            nonlocal status, is_stream
            if message["type"] == "http.response.start":
                status, kind = message["status"], Headers(raw=message["headers"]).get("content-type", "")
                is_stream = kind.startswith(EVENTS)
            await send(message)

        try:
            await self.app(scope, receive, note_status)
        finally:
            # the router has put the route into the scope, and its name is the operation's id
            operation = getattr(scope.get("route"), "name", None)
            if operation and not is_stream:
                self._histogram.labels(operation, f"{status}").observe(time.perf_counter() - began)
