"""The API's exceptions and handlers: every error has the same response format."""

import logging
from collections.abc import Mapping, Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from starlette.exceptions import HTTPException

from api.access.headers import security_headers
from api.closed_file import ForeignFolderError, why_closed
from api.http.methods import allowed_methods
from api.http.problem_response import ProblemResponse
from contract.folder.files.untrusted_file import UnreadableFileError
from contract.validation import ValidationIssue, issues_from_details
from store.database_state import told

log = logging.getLogger(__name__)


class ApiError(Exception):
    """An error response; each subclass has an HTTP status and a code for programs."""

    status = 500
    code = "internal"
    headers: Mapping[str, str] = {}

    def __init__(self, message: str, fields: Sequence[ValidationIssue] = ()) -> None:
        super().__init__(message)
        self.message, self.fields = message, list(fields)


class NotFound(ApiError):
    """The resource does not exist."""

    status, code = 404, "not_found"


class Malformed(ApiError):
    """The body is not YAML or JSON."""

    status, code = 400, "malformed_document"


class Conflict(ApiError):
    """The request conflicts with another request."""

    status, code = 409, "conflict"


class UnreadableFile(ApiError):
    """A file of a run is not a regular file, or is closed."""

    status, code = 409, "unreadable_file"


class FolderUnavailable(ApiError):
    """The file system of a run's folder does not answer, or refuses access."""

    status, code = 503, "folder_unavailable"


class ArtifactStoreUnavailable(ApiError):
    """The object store that alone has an artifact does not work."""

    status, code = 503, "artifact_store_unavailable"


class TooLarge(ApiError):
    """The body is too large."""

    status, code = 413, "too_large"


class Invalid(ApiError):
    """A field is not valid."""

    status, code = 422, "invalid"


class RangeNotSatisfiable(ApiError):
    """The requested part lies behind the end of the file."""

    status, code = 416, "range_not_satisfiable"

    def __init__(self, message: str, size: int) -> None:
        super().__init__(message)
        self.headers = {"Content-Range": f"bytes */{size}"}


class Busy(ApiError):
    """The service does other work of this kind; a later request can succeed."""

    status, code = 503, "busy"


class UnknownDatabase(ApiError):
    """A version that this one does not know made the tables of the database."""

    status, code = 503, "database_of_unknown_version"


class Unauthorized(ApiError):
    """The token is missing or wrong."""

    status, code = 401, "unauthorized"
    headers: Mapping[str, str] = {"WWW-Authenticate": "Bearer"}


class TooManyAttempts(ApiError):
    """Too many requests of this client address had a wrong token."""

    status, code = 429, "too_many_attempts"

    def __init__(self, wait_s: int) -> None:
        super().__init__(f"too many requests of your address had a wrong token: wait {wait_s} s, or send the right one")
        self.headers = {"Retry-After": str(wait_s)}


class Forbidden(ApiError):
    """The host name or the origin is not allowed."""

    status, code = 403, "forbidden"


class UnsupportedType(ApiError):
    """The content type is not supported."""

    status, code = 415, "unsupported_type"


def respond(error: ApiError) -> ProblemResponse:
    """Return the response of an error."""
    return ProblemResponse(error.status, error.code, error.message, error.fields, error.headers)


def respond_to_outage(error: SQLAlchemyError | UnknownDatabase) -> ProblemResponse:
    """Return the response of a database that does not work; raise the error if a statement of ours is wrong."""
    if isinstance(error, UnknownDatabase):
        return respond(error)
    if (problem := told(error)) is None:
        raise error
    return ProblemResponse(503, "database_unavailable", problem)


def install(app: FastAPI) -> None:
    """Install handlers, so that all errors of `app` have the same format."""

    @app.exception_handler(ApiError)
    def ours(request: Request, error: ApiError) -> ProblemResponse:
        return respond(error)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> ProblemResponse:
        return respond(Invalid("the request is not valid", _request_issues(error)))

    @app.exception_handler(HTTPException)
    def plain(request: Request, error: HTTPException) -> ProblemResponse:
        if error.status_code == 405:
            return _refuse_method(app, request)
        detail = str(error.detail)
        return ProblemResponse(error.status_code, detail.lower().replace(" ", "_"), detail, headers=error.headers)

    @app.exception_handler(OSError)
    def unreadable(request: Request, error: OSError) -> ProblemResponse:
        return _refuse_file(request, error)

    @app.exception_handler(DBAPIError)
    def database_down(request: Request, error: DBAPIError) -> ProblemResponse:
        return respond_to_outage(error)

    @app.exception_handler(Exception)
    def unforeseen(request: Request, error: Exception) -> ProblemResponse:
        # The traceback is in the log; a response must not reveal internals.
        # Starlette makes this response outside every middleware, so the headers are added here.
        message = "internal error; the service's log has the details"
        return ProblemResponse(500, "internal", message, headers=security_headers(request.url.path))


def _refuse_file(request: Request, error: OSError) -> ProblemResponse:
    """Return 409 for a file that its run has replaced or closed, else 503: the file system does not work."""
    if isinstance(error, UnreadableFileError):
        return respond(UnreadableFile(f"{error.filename} cannot be read: {error.strerror}"))
    # a write goes into the service's own files alone
    if isinstance(error, PermissionError) and request.method in ("GET", "HEAD") and isinstance(error.filename, str):
        try:
            closed = why_closed(error.filename, request.app.state.settings.runs_folder())
        except ForeignFolderError as foreign:
            log.error("a run's file cannot be read: %s", foreign)
            return respond(UnreadableFile(f"not readable: {foreign}"))
        if closed:
            return respond(UnreadableFile(f"{error.filename} cannot be read: {closed}"))
    log.error("a file cannot be read", exc_info=error)
    return respond(FolderUnavailable(f"a file cannot be read: {error.strerror or 'the log has the details'}"))


def _refuse_method(app: FastAPI, request: Request) -> ProblemResponse:
    """Return 405 with all methods of the path; 404 for a path without any."""
    allowed = allowed_methods(app, request.scope)
    if not allowed:
        return respond(NotFound("Not Found"))
    methods = ", ".join(allowed)
    message = f"{request.method} is not allowed here; allowed: {methods}"
    return ProblemResponse(405, "method_not_allowed", message, headers={"Allow": methods})


def _request_issues(error: RequestValidationError) -> list[ValidationIssue]:
    """Return the issues without FastAPI's location prefix ("body", "query")."""
    return issues_from_details({**detail, "loc": tuple(detail["loc"])[1:]} for detail in error.errors())
