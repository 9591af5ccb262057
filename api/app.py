"""The FastAPI application: validates and stores requests, reads results. The API never calls a cluster."""

from functools import cache
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from prometheus_client import CollectorRegistry
from starlette.middleware.gzip import GZipMiddleware

from api import (
    answer,
    collectives,
    dashboard,
    errors,
    experiments,
    failures,
    health,
    runs,
    schedules,
    search,
    workflow_steps,
)
from api.access.credentials import Credentials
from api.access.guard import AccessMiddleware
from api.access.headers import SecurityHeadersMiddleware
from api.artifacts import artifacts, checkpoints, files, reuse
from api.clusters import node_failures
from api.clusters import reports as cluster_reports
from api.code import comparison, reproduction, snapshots
from api.documents import DocumentMiddleware
from api.drafts import recipes, scripts, starts
from api.exports import points as exported_points
from api.exports import runs as exported_runs
from api.http.etag import EtagMiddleware
from api.http.methods import HeadMiddleware
from api.http.openapi import openapi_of, operation_id
from api.http.query_names import refuse_unknown_parameters
from api.http.root_path import RootPathMiddleware
from api.http.statuses import ACCESS
from api.lifecycle import copies, deletion, extension, labels, recordings, retry
from api.lifecycle import search as search_requests
from api.live import events
from api.live.hub import Hub
from api.live.shared_responses import SharedResponsesMiddleware
from api.logs import log
from api.metrics import metrics
from api.metrics.latency import LatencyMiddleware, latency_histogram
from api.notify import rules as notify_rules
from api.notify import targets as notify_targets
from api.planning import kfac, plans
from api.points import batches, curves
from api.points.shared_answers import SharedAnswers
from api.run_table import groups, table
from api.saved import reports, views
from contract.settings import Settings
from store.mirror.object_store import ObjectStore
from store.session import engine_for

ROUTERS = (
    experiments.router,
    answer.router,
    search.router,
    failures.router,
    workflow_steps.router,
    # before the runs: the words in /runs/table, /runs/groups, /runs/curves and /runs/comparison are no ids of runs
    table.router,
    groups.router,
    curves.router,
    comparison.router,
    runs.router,
    log.router,
    batches.router,
    artifacts.router,
    files.router,
    checkpoints.router,
    reuse.router,
    exported_points.router,
    exported_runs.router,
    labels.router,
    retry.router,
    extension.router,
    copies.router,
    search_requests.router,
    deletion.router,
    recordings.router,
    snapshots.router,
    reproduction.router,
    recipes.router,
    scripts.router,
    starts.router,
    collectives.router,
    plans.router,
    views.router,
    reports.router,
    notify_targets.router,
    notify_rules.router,
    schedules.router,
    kfac.router,
    events.router,
    cluster_reports.router,
    node_failures.router,
    health.router,
)


def create_app(settings: Settings) -> FastAPI:
    """Return the application for the settings' token and database, whose migrations must be complete.

    Raise ValueError for settings without a token, or with an object store that cannot be opened.
    """
    app = FastAPI(
        title="Bigbatch",
        version="1",
        description="Large-batch, distributed training experiments on Slurm clusters.",
        docs_url=None,  # FastAPI's page would load scripts of another host
        openapi_url="/api/openapi.json",
        redoc_url=None,
        generate_unique_id_function=operation_id,
        dependencies=[Depends(refuse_unknown_parameters)],
    )
    _set_state(app, settings)
    errors.install(app)
    app.include_router(_version_1())
    app.include_router(metrics.router, responses=ACCESS)
    dashboard.install(app, root=settings.service_path())
    app.add_middleware(LatencyMiddleware, histogram=latency_histogram(app.state.latencies))
    app.add_middleware(DocumentMiddleware)
    app.add_middleware(EtagMiddleware)
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=3)  # the default, 9, needs four times the time
    app.add_middleware(SharedResponsesMiddleware)
    app.add_middleware(HeadMiddleware)
    credentials = Credentials(settings.token)
    # The last one runs first. Starlette makes a middleware at the first request: an empty token must fail here.
    app.add_middleware(AccessMiddleware, credentials=credentials, public_url=settings.public_url)
    app.add_middleware(SecurityHeadersMiddleware)
    app.add_middleware(RootPathMiddleware, root=settings.service_path())

    @cache
    def openapi() -> dict[str, Any]:
        return openapi_of(app, cookie=credentials.cookie, root=settings.service_path())

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to change the document
    return app


@cache
def _version_1() -> APIRouter:
    """Return all operations; they are made once in a process, because that takes longer than everything else here."""
    router = APIRouter(prefix="/api/v1", responses=ACCESS)
    for part in ROUTERS:
        router.include_router(part)
    return router


def _set_state(app: FastAPI, settings: Settings) -> None:
    app.state.settings = settings
    app.state.engine = engine_for(settings.database_url())
    app.state.is_database_checked = True  # that its tables are of a version that this one knows; python -m api looks
    app.state.object_store = ObjectStore.of(settings)
    app.state.live = Hub(app.state.engine, settings.live_seconds)
    app.state.slurm_answers = starts.SlurmAnswers()
    app.state.shared_answers = SharedAnswers()
    app.state.importance = search.ImportanceCache()
    app.state.latencies = CollectorRegistry()
