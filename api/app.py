"""The FastAPI application: validates and stores requests, reads results. The API never calls a cluster."""

from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from api import collectives, dashboard, errors, experiments, failures, health, metrics, runs
from api.documents import DocumentMiddleware
from api.guard import AccessMiddleware
from contract.api.responses import ErrorView
from contract.settings import Settings
from store.session import engine_for

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorView} for status in (400, 401, 403, 404, 409, 413, 415, 422, 503)
}


def create_app(settings: Settings) -> FastAPI:
    """Return the application for the settings' database, whose migrations must be complete."""
    app = FastAPI(
        title="Bigbatch",
        version="1",
        description="Large-batch, distributed training experiments on Slurm clusters.",
        docs_url="/api/docs",
        openapi_url="/api/openapi.json",
        redoc_url=None,
    )
    app.state.settings = settings
    app.state.engine = engine_for(settings.database_url())
    errors.install(app)
    v1 = APIRouter(prefix="/api/v1", responses=ERRORS)
    for router in (experiments.router, failures.router, runs.router, collectives.router, health.router):
        v1.include_router(router)
    app.include_router(v1)
    app.include_router(metrics.router)
    dashboard.install(app)
    app.add_middleware(DocumentMiddleware)
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=3)  # the default, 9, needs four times the time
    app.add_middleware(AccessMiddleware, token=settings.token)  # added last, so it runs first
    return app
