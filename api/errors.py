"""One shape for every error, whoever raised it."""

from collections.abc import Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException

from contract.api.responses import ErrorView, Problem
from contract.validation import Fault, faults_in


class ApiError(Exception):
    """An error of this service; each subclass carries its HTTP status and its word for programs."""

    status = 500
    code = "internal"

    def __init__(self, message: str, fields: Sequence[Fault] = ()) -> None:
        super().__init__(message)
        self.message, self.fields = message, list(fields)


class NotFound(ApiError):
    status, code = 404, "not_found"


class Malformed(ApiError):
    status, code = 400, "malformed_document"


class Conflict(ApiError):
    status, code = 409, "conflict"


class TooLarge(ApiError):
    status, code = 413, "too_large"


class Invalid(ApiError):
    status, code = 422, "invalid"


class Unauthorized(ApiError):
    status, code = 401, "unauthorized"


class Forbidden(ApiError):
    status, code = 403, "forbidden"


class UnsupportedType(ApiError):
    status, code = 415, "unsupported_type"


def respond(error: ApiError) -> JSONResponse:
    """Render an error; 401 also says how to authenticate."""
    view = ErrorView(error=Problem(code=error.code, message=error.message, fields=error.fields))
    headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else None
    return JSONResponse(view.model_dump(), status_code=error.status, headers=headers)


def install(app: FastAPI) -> None:
    """Make every error of `app` come out in the one shape."""

    @app.exception_handler(ApiError)
    def ours(request: Request, error: ApiError) -> JSONResponse:
        return respond(error)

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return respond(Invalid("the request does not parse", _request_faults(error)))

    @app.exception_handler(HTTPException)
    def plain(request: Request, error: HTTPException) -> JSONResponse:
        problem = Problem(code=str(error.detail).lower().replace(" ", "_"), message=str(error.detail))
        return JSONResponse(ErrorView(error=problem).model_dump(), status_code=error.status_code)

    @app.exception_handler(OperationalError)
    def database_down(request: Request, error: OperationalError) -> JSONResponse:
        problem = Problem(code="database_unavailable", message=str(error.orig).splitlines()[0])
        return JSONResponse(ErrorView(error=problem).model_dump(), status_code=503)

    @app.exception_handler(Exception)
    def unforeseen(request: Request, error: Exception) -> JSONResponse:
        # the log has the trace; a stranger need not
        problem = Problem(code="internal", message="an error of the service; its log has the details")
        return JSONResponse(ErrorView(error=problem).model_dump(), status_code=500)


def _request_faults(error: RequestValidationError) -> list[Fault]:
    """Faults with the place FastAPI puts in front ("body", "query") left out."""
    return faults_in({**detail, "loc": tuple(detail["loc"])[1:]} for detail in error.errors())
