"""Access control: every request needs the token or a session, except those that say whether the service is well.

No rule depends on where a request seems to come from: other users of a login node share its loopback address, and a
proxy can replace the `Host` header.
"""

import time
from urllib.parse import urlsplit

from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api.access.credentials import Credentials, Validity
from api.access.headers import holds_data
from api.access.sign_in import SIGN_IN, SIGN_OUT, SignIn, client_address, end_session
from api.access.sign_in_page import sign_in_page
from api.access.throttle import Throttle
from api.errors import ApiError, Forbidden, TooManyAttempts, Unauthorized, UnknownDatabase, respond, respond_to_outage
from api.http.root_path import root_of

OPEN_PATHS = {"/api/v1/health", "/api/v1/ready"}  # for load balancers and health checks
HAS_ACCESS_KEY = "bigbatch.has_access"  # key in the ASGI scope: an open path answers others with less detail


class AccessMiddleware:
    """ASGI middleware that refuses requests without access."""

    def __init__(self, app: ASGIApp, credentials: Credentials, public_url: str = "") -> None:
        self.app = app
        self._public_origin = _origin_of(public_url)
        self._credentials, self._throttle = credentials, Throttle()
        self._sign_in = SignIn(credentials, self._throttle)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope, receive)
        response = _check_origin(request, self._public_origin)
        if response is None and scope["path"] in (SIGN_IN, SIGN_OUT):
            response = await self._sign_in.respond(request)
        if response is None:
            validity, response = await self._answer(request)
            scope = {**scope, HAS_ACCESS_KEY: validity is Validity.VALID}
        await (response or self.app)(scope, receive, send)

    async def _answer(self, request: Request) -> tuple[Validity | None, Response | None]:
        """Return the validity of the request's credentials, and the response that refuses it; None if it goes on."""
        path = request.scope["path"]
        try:
            validity = await self._check(request)
        except (SQLAlchemyError, UnknownDatabase) as error:
            # a session that may have been signed out sees no data; the dashboard's own files tell of the outage
            is_open = path in OPEN_PATHS or not holds_data(path)
            return None, None if is_open else respond_to_outage(error)
        is_open = validity is not Validity.WRONG and path in OPEN_PATHS
        return validity, None if validity is Validity.VALID or is_open else self._refuse(request, validity)

    async def _check(self, request: Request) -> Validity | None:
        """Return the validity of the request's best credential; None for a request without credentials."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._credentials.is_token(bearer.strip()):
            return Validity.VALID
        of_session = await self._credentials.check_session(request)
        return Validity.WRONG if scheme and of_session is None else of_session

    def _refuse(self, request: Request, validity: Validity | None) -> Response:
        error: ApiError = Unauthorized("the token is missing or wrong: send Authorization: Bearer TOKEN")
        if validity is Validity.WRONG and (
            wait_s := self._throttle.record_failure(client_address(request), now=time.monotonic())
        ):
            error = TooManyAttempts(wait_s)
        path = str(request.scope["path"])
        if "text/html" in request.headers.get("accept", "") and not path.startswith("/api/"):
            response: Response = sign_in_page(
                _without_token(path, request.scope["query_string"].decode("latin-1")),
                status=error.status,
                headers=error.headers,
                root=root_of(request.scope),
                is_cross_site=request.headers.get("sec-fetch-site") == "cross-site",
            )
        else:
            response = respond(error)
        if self._credentials.cookie in request.cookies:
            # An open page polls: without the useless cookie its requests no longer count as failed attempts.
            end_session(response, self._credentials, request)
        return response


def _without_token(path: str, query: str) -> str:
    """Return the address of the page after the sign-in; a token in it would stay in the browser's history."""
    rest = "&".join(part for part in query.split("&") if part and not part.startswith("token="))
    return f"{path}?{rest}" if rest else path


def _origin_of(url: str) -> str:
    """Return the origin of an address as browsers send it; "" of none."""
    parts = urlsplit(url.lower())
    usual = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return f"{parts.scheme}://{parts.netloc.removesuffix(usual)}" if url else ""


def _check_origin(request: Request, public_origin: str) -> Response | None:
    """Return the error response to a change that a page of another origin requests.

    Some portals replace the Host; then the setting of the dashboard's address says which origin is the service's own.
    """
    origin = request.headers.get("origin")
    is_own = not origin or origin == public_origin or origin.partition("://")[2] == request.headers.get("host")
    if is_own or request.method in ("GET", "HEAD"):
        return None
    return respond(Forbidden(f"requests from pages of {origin} are not allowed"))
