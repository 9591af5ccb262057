"""The answers of `orders` as the API gives them: a refusal is an error with a status."""

from typing import TypeVar

from fastapi import Request

from api.errors import ApiError, Conflict, Invalid, NotFound
from api.http.bodies import document_of
from contract.spec.expanded import Expanded
from orders import acceptance
from orders.folders import Folders
from orders.refused import Kind, Refused

Granted = TypeVar("Granted")
ERRORS: dict[Kind, type[ApiError]] = {Kind.INVALID: Invalid, Kind.ABSENT: NotFound, Kind.CONFLICT: Conflict}


def granted(answer: Granted | Refused) -> Granted:
    """Return what was asked for; raise the error of a refusal."""
    if isinstance(answer, Refused):
        raise error_of(answer)
    return answer


def error_of(refused: Refused) -> ApiError:
    """Return a refusal as an error."""
    return ERRORS[refused.kind](refused.message, refused.issues)


def folders_of(request: Request) -> Folders:
    """Return the folders that the service's settings name."""
    return Folders.of(request.app.state.settings)


def draft_of(request: Request) -> Expanded:
    """Return the experiment of the body with its points, as far as its document alone shows that it is valid."""
    return granted(acceptance.read(document_of(request, what="the experiment")))
