"""The error statuses of each operation, as the OpenAPI document lists them."""

from typing import Any

from api.http.problem_response import MEDIA_TYPE

MEANINGS = {
    304: "The response has not changed since the one with the ETag in If-None-Match.",
    400: "The body is not a valid JSON or YAML document.",
    401: "The token is missing or wrong.",
    403: "The host name or the origin is not allowed.",
    404: "There is no such experiment, run, snapshot or view.",
    409: "An Idempotency-Key in use or with another document, a run in a state that does not allow the request, "
    "a deletion without its confirmation, or a stored file that cannot be read.",
    413: "The body is too large.",
    415: "The content type of the body is not supported.",
    416: "The requested part lies behind the end of the file.",
    422: "A field or parameter is not valid; `errors` names it.",
    429: "Too many attempts with a wrong token; Retry-After says when to try again.",
    503: "The database, a file system or the artifact store does not answer, or the service is busy.",
}
PROBLEM = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}

Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """Return the description of these error statuses, each with a problem document."""
    return {status: {"description": MEANINGS[status], **PROBLEM} for status in statuses}


ACCESS = problems(401, 403, 422, 429)  # of every operation; 422 also for a parameter that it does not have
UNCHANGED: Responses = {304: {"description": MEANINGS[304]}}  # of every GET with a JSON answer
STREAM = problems(404, 422, 503)
LIST = UNCHANGED | problems(422, 503)
ITEM = UNCHANGED | problems(404, 422, 503)  # of operations on one experiment or run
ACTION = problems(400, 404, 413, 415, 422, 503)  # of operations on one experiment or run that change it
UPLOAD = problems(400, 404, 409, 413, 415, 422, 503)
CREATION = problems(400, 409, 413, 415, 422, 503)
CHANGE = problems(400, 404, 409, 413, 415, 422, 503)  # of operations that depend on the state of a run
