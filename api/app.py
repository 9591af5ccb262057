"""The FastAPI application: validates and stores requests, reads results. The API never calls a cluster."""

from functools import cache
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from api import collectives, dashboard, errors, experiments, failures, health, metrics, runs
from api.access.credentials import Credentials
from api.access.guard import AccessMiddleware
from api.access.headers import SecurityHeadersMiddleware
from api.code import reproduction, snapshots
from api.documents import DocumentMiddleware
from api.http.etag import EtagMiddleware
from api.http.methods import HeadMiddleware
from api.http.openapi import openapi_of, operation_id
from api.http.query_names import refuse_unknown_parameters
from api.http.statuses import ACCESS
from api.lifecycle import deletion, extension, labels, retry
from api.points import curves
from api.results import answer
from api.run_table import table
from contract.settings import Settings
from store.session import engine_for


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
        generate_unique_id_function=operation_id,
        dependencies=[Depends(refuse_unknown_parameters)],
    )
    app.state.settings = settings
    app.state.engine = engine_for(settings.database_url())
    errors.install(app)
    v1 = APIRouter(prefix="/api/v1", responses=ACCESS)
    changes = (labels.router, retry.router, extension.router, deletion.router)
    code = (snapshots.router, reproduction.router)
    results = (answer.router, failures.router)
    # the table before the runs: /runs/table is no id of a run
    series = (table.router, runs.router, curves.router)
    routers = (experiments.router, *results, *series, *changes, *code, collectives.router)
    for router in (*routers, health.router):
        v1.include_router(router)
    app.include_router(v1)
    app.include_router(metrics.router, responses=ACCESS)
    dashboard.install(app)
    app.add_middleware(DocumentMiddleware)
    app.add_middleware(EtagMiddleware)
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=3)  # the default, 9, needs four times the time
    app.add_middleware(HeadMiddleware)
    credentials = Credentials(settings.token)
    # The last one runs first. Starlette makes a middleware at the first request: an empty token must fail here.
    app.add_middleware(AccessMiddleware, credentials=credentials)
    app.add_middleware(SecurityHeadersMiddleware)

    @cache
    def openapi() -> dict[str, Any]:
        return openapi_of(app, cookie=credentials.cookie)

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to change the document
    return app
