"""The OpenAPI document: FastAPI's, with the schema of errors and the ways to send the token."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute

from contract.api.problem import Problem

TAGS = [
    {"name": "experiments", "description": "Experiments: create, list, read, stop; the curves of all their runs."},
    {"name": "runs", "description": "Runs: list, read, stop; points, log, and times of ranks."},
    {"name": "collectives", "description": "Predicted costs of collectives on a network, and their plans."},
    {"name": "service", "description": "The state of the service and of its clusters."},
]
REFERENCE = "#/components/schemas/{model}"


def operation_id(route: APIRoute) -> str:
    """Return the name of the endpoint's function: the stable id of the operation."""
    return route.name


def openapi_of(app: FastAPI, *, cookie: str) -> dict[str, Any]:
    """Return the OpenAPI document of `app`, whose token may come as a bearer token or in `cookie`."""
    document = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes, tags=TAGS
    )
    components = document["components"]
    problem = Problem.model_json_schema(ref_template=REFERENCE)
    components["schemas"] |= {**problem.pop("$defs"), "Problem": problem}
    components["securitySchemes"] = {
        "bearer": {"type": "http", "scheme": "bearer", "description": "The token of the service."},
        "cookie": {
            "type": "apiKey",
            "in": "cookie",
            "name": cookie,
            "description": "The session that a browser gets by its sign-in.",
        },
    }
    document["security"] = [{"bearer": []}, {"cookie": []}]
    return document
