"""Refusal of query parameters that an operation does not have: a misspelled filter must not look like an answer."""

from collections.abc import Sequence
from difflib import get_close_matches

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Cookie, Header, Path
from fastapi.routing import APIRoute

from api.errors import Invalid
from contract.validation import ValidationIssue

ELSEWHERE = (Path, Header, Cookie)  # parameters of these kinds are not in the query


def refuse_unknown_parameters(request: Request) -> None:
    """Raise Invalid if the query has a parameter that the operation does not have."""
    route = request.scope.get("route")
    if not request.query_params or not isinstance(route, APIRoute) or not route.include_in_schema:
        return  # a page of the dashboard takes any
    known = query_names(route)
    if unknown := [name for name in dict.fromkeys(request.query_params) if name not in known]:
        raise Invalid("the request is not valid", [_issue(name, known) for name in unknown])


def query_names(route: APIRoute) -> list[str]:
    """Return the names of an operation's query parameters, in the order of the alphabet.

    The OpenAPI document has them too, but to build it takes a second of the first request.
    """
    fields = get_flat_params(route.dependant)
    return sorted({field.alias for field in fields if not isinstance(field.field_info, ELSEWHERE)})


def _issue(name: str, known: Sequence[str]) -> ValidationIssue:
    near = get_close_matches(name, known, 1)
    hint = f"did you mean '{near[0]}'?" if near else f"it has {', '.join(known)}" if known else "it has none"
    return ValidationIssue(path=name, message=f"the operation has no such parameter; {hint}")
