"""Refusal of query parameters that an operation does not have: a misspelled filter must not look like an answer."""

from collections.abc import Sequence
from difflib import get_close_matches

from fastapi import Request

from api.errors import Invalid
from contract.validation import ValidationIssue


def refuse_unknown_parameters(request: Request) -> None:
    """Raise Invalid if the query has a parameter that the OpenAPI document does not list for the operation."""
    if not request.query_params:
        return
    name = getattr(request.scope.get("route"), "name", "")  # the id of the operation
    operations = (one for path in request.app.openapi()["paths"].values() for one in path.values())
    operation = next((one for one in operations if one["operationId"] == name), None)
    if operation is None:
        return  # a page of the dashboard
    known = sorted(one["name"] for one in operation.get("parameters", []) if one["in"] == "query")
    if unknown := [name for name in dict.fromkeys(request.query_params) if name not in known]:
        raise Invalid("the request is not valid", [_issue(name, known) for name in unknown])


def _issue(name: str, known: Sequence[str]) -> ValidationIssue:
    near = get_close_matches(name, known, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known)}" if known else "it has none"
    return ValidationIssue(path=name, message=f"the operation has no such parameter; {hint}")
