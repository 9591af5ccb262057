"""The OpenAPI document: FastAPI's, with the schema of errors, the ways to send the token, and complete fields."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from api.http.bodies import REFERENCE
from contract.api.incoming.points_batch import PointsBatch
from contract.api.incoming.recording import RecordedRunsRequest, RecordingRequest
from contract.api.labels import ExperimentChange, RunChange
from contract.api.lifecycle import ExtensionRequest, PointsRequest, RetryRequest
from contract.api.notify.message import Message
from contract.api.notify.rules import NewRule
from contract.api.notify.targets import NewTarget, TargetChange
from contract.api.planning.plans import PlanRequest
from contract.api.problem import Problem
from contract.api.saved.reports import AddedBlock, NewReport, ReportChange
from contract.api.saved.views import NewView, ViewChange
from contract.api.schedules import NewSchedule, ScheduleChange
from contract.api.search import SearchExtension
from contract.api.service import ChangedItems, LogSize
from contract.api.snapshots import SnapshotRequest

TAGS = [
    {
        "name": "experiments",
        "description": "Experiments: create, list, read, label, stop, retry, extend, delete; curves of all runs.",
    },
    {
        "name": "runs",
        "description": "Runs: list, read, label, stop, retry, extend, delete; points, log, and times of ranks.",
    },
    {"name": "searches", "description": "Searches, whose trials a sampler chooses: read, pause, resume, extend."},
    {"name": "export", "description": "Points and runs as files: CSV, JSON lines, Parquet."},
    {"name": "recordings", "description": "Experiments and runs that were carried out elsewhere: import, points."},
    {"name": "snapshots", "description": "Code snapshots: upload, read, compare."},
    {"name": "views", "description": "Saved views of the dashboard's pages."},
    {"name": "notifications", "description": "Messages about experiments: targets, rules, deliveries."},
    {"name": "schedules", "description": "Schedules: experiments that are submitted again and again, or for a file."},
    {"name": "reports", "description": "Reports: texts, pictures and tables of chosen runs."},
    {"name": "collectives", "description": "Predicted costs of collectives on a network, and their plans."},
    {"name": "plans", "description": "The memory, time and cost of training jobs before they run."},
    {"name": "service", "description": "The state of the service and of its clusters."},
]
CHANGES = (ExperimentChange, RunChange, RetryRequest, PointsRequest, ExtensionRequest, SearchExtension)
NOTIFICATIONS = (NewTarget, TargetChange, NewRule, Message, NewSchedule, ScheduleChange)
SAVED = (NewView, ViewChange, NewReport, ReportChange, AddedBlock)
BODIES = (
    *CHANGES,
    PlanRequest,
    SnapshotRequest,
    PointsBatch,
    RecordingRequest,
    RecordedRunsRequest,
    *SAVED,
    *NOTIFICATIONS,
)
EVENTS = (ChangedItems, LogSize)  # data of the events of GET /events
NO_SCALAR = ("const", "enum", "$ref", "oneOf")  # schemas that list their values, or that lead to fields


def operation_id(route: APIRoute) -> str:
    """Return the name of the endpoint's function: the stable id of the operation."""
    return route.name


def openapi_of(app: FastAPI, *, cookie: str, root: str) -> dict[str, Any]:
    """Return the OpenAPI document of `app`, whose token may come as a bearer token or in `cookie`.

    `root`: the path below which a proxy serves it, "" without one.
    """
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes, tags=TAGS
    )
    components = document["components"]
    for model in (Problem, *BODIES, *EVENTS):
        schema = model.model_json_schema(ref_template=REFERENCE)
        components["schemas"] |= {**schema.pop("$defs", {}), model.__name__: schema}
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "The token of the service."},
        "cookie": {
            "type": "apiKey",
            "in": "cookie",
            "name": cookie,
            "description": "The session that a browser gets by its sign-in.",
        },
    }
    if root:
        document["servers"] = [{"url": root}]
    document["security"] = [{"bearer": []}, {"cookie": []}]
    _complete_fields(document)
    return document


def _complete_fields(document: dict[str, Any]) -> None:
    """Describe the tags of choices, and take defaults as examples, so that no model has to repeat either."""
    models = document["components"]["schemas"].values()
    fields = [field for model in models for field in model.get("properties", {}).values()]
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    parameters = [one["schema"] for operation in operations for one in operation.get("parameters", [])]
    for schema in (*fields, *parameters):
        if "const" in schema:
            schema.setdefault(
                "description", f'Always "{schema["const"]}": the name by which a spec selects this choice.'
            )
        if schema.get("default") not in (None, "", [], {}) and not any(key in schema for key in NO_SCALAR):
            schema.setdefault("examples", [schema["default"]])
