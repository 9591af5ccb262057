"""The door: checks wishes in, reads curves out; never talks to a cluster."""

from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from api import collectives, dashboard, errors, experiments, failures, health, metrics, runs
from api.documents import Documents
from api.guard import Guard
from contract.api.responses import ErrorView
from contract.settings import Settings
from store.session import engine_for

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorView} for status in (400, 401, 403, 404, 409, 413, 415, 422, 503)
}


def create_app(settings: Settings) -> FastAPI:
    """The service on one database; migrate it first."""
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
    for room in (experiments.router, failures.router, runs.router, collectives.router, health.router):
        v1.include_router(room)
    app.include_router(v1)
    app.include_router(metrics.router)
    dashboard.install(app)
    app.add_middleware(Documents)
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=3)  # 9, its own, takes four times as long
    app.add_middleware(Guard, token=settings.token)  # added last: stands first
    return app
