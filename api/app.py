"""The FastAPI application: validates and stores requests, reads results. The API never calls a cluster."""

from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from api import collectives, dashboard, errors, experiments, failures, health, metrics, runs
from api.access.credentials import Credentials
from api.access.guard import AccessMiddleware
from api.access.headers import SecurityHeadersMiddleware
from api.documents import DocumentMiddleware
from api.http.methods import HeadMiddleware
from contract.api.problem import Problem
from contract.settings import Settings
from store.session import engine_for

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem} for status in (400, 401, 403, 404, 409, 413, 415, 422, 429, 503)
}


def create_app(settings: Settings) -> FastAPI:
    """Return the application for the settings' token and database, whose migrations must be complete.

    Raise ValueError for settings without a token.
    """
    app = FastAPI(
        title="Bigbatch",
        version="1",
        description="Large-batch, distributed training experiments on Slurm clusters.",
        docs_url=None,  # FastAPI's page would load scripts of another host
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
    app.add_middleware(HeadMiddleware)
    # The last one runs first. Starlette makes a middleware at the first request: an empty token must fail here.
    app.add_middleware(AccessMiddleware, credentials=Credentials(settings.token))
    app.add_middleware(SecurityHeadersMiddleware)
    return app
