"""Sign-in and sign-out of browsers: a token or a one-time code becomes a session in a cookie."""

import re
import time
from urllib.parse import parse_qsl

from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response

from api.access.credentials import Credentials, Validity
from api.access.sign_in_page import sign_in_page
from api.access.throttle import Throttle
from api.errors import ApiError, TooLarge, TooManyAttempts, respond, respond_to_outage
from api.http.root_path import root_of

SIGN_IN, SIGN_OUT = "/sign-in", "/sign-out"
MAX_FORM_BYTES = 8_000
UPWARD = re.compile(r"(?:\.|%2e){2}", re.IGNORECASE)  # as browsers read it: another service may be above this one


class SignIn:
    """Answer requests to SIGN_IN and SIGN_OUT."""

    def __init__(self, credentials: Credentials, throttle: Throttle) -> None:
        self._credentials, self._throttle = credentials, throttle

    async def respond(self, request: Request) -> Response:
        """Return the response to a request; the caller has checked the request's origin."""
        path, root, method = request.scope["path"], root_of(request.scope), request.method
        if path == SIGN_IN and method in ("GET", "HEAD"):
            return sign_in_page("/", root=root, status=200)
        if method != "POST":
            return Response(status_code=405, headers={"Allow": "POST" if path == SIGN_OUT else "GET, HEAD, POST"})
        try:
            return await (self._sign_out(request) if path == SIGN_OUT else self._sign_in(request, await _form(request)))
        except ClientDisconnect:
            return Response(status_code=400)
        except SQLAlchemyError as error:
            return respond_to_outage(error)
        except ApiError as error:
            return respond(error)

    async def _sign_in(self, request: Request, form: dict[str, str]) -> Response:
        next_path, code, root = form.get("next") or "/", form.get("code", ""), root_of(request.scope)
        is_token = self._credentials.is_token(form.get("token", ""))
        validity = Validity.VALID if is_token else Validity.WRONG
        if code and not is_token:
            validity = await self._credentials.redeem(request, code)
        if validity is Validity.VALID:
            return self._begin_session(request, next_path)
        if validity is Validity.ENDED and await self._credentials.check_session(request) is Validity.VALID:
            return _redirect(next_path)  # the same browser opens its link again
        if validity is Validity.ENDED:
            message = "The link has been used before or has expired."
            return sign_in_page(next_path, root=root, status=401, message=message)
        if wait_s := self._throttle.record_failure(client_address(request), now=time.monotonic()):
            error = TooManyAttempts(wait_s)
            told = error.message
            return sign_in_page(next_path, root=root, status=error.status, message=told, headers=error.headers)
        wrong = "The link is not valid for this service." if code else "The token is wrong."
        return sign_in_page(next_path, root=root, status=401, message=wrong)

    def _begin_session(self, request: Request, next_path: str) -> Response:
        response = _redirect(next_path)
        # A proxy with TLS may connect without TLS; the browser's own origin shows which one the browser uses.
        is_https = request.scope["scheme"] == "https" or request.headers.get("origin", "").startswith("https://")
        credentials = self._credentials
        response.set_cookie(
            credentials.cookie,
            credentials.new_session(),
            max_age=credentials.session_lifetime_s,
            path=_cookie_path(request),
            httponly=True,
            samesite="strict",
            secure=is_https,
        )
        return response

    async def _sign_out(self, request: Request) -> Response:
        await self._credentials.end_session(request)
        response = _redirect(SIGN_IN)
        end_session(response, self._credentials, request)
        return response


def end_session(response: Response, credentials: Credentials, request: Request) -> None:
    """Let the browser delete the cookie of the session."""
    response.delete_cookie(credentials.cookie, path=_cookie_path(request), httponly=True, samesite="strict")


def _cookie_path(request: Request) -> str:
    """Return the path below which the browser sends the cookie: none of another service of the same host."""
    return root_of(request.scope) or "/"


def _redirect(next_path: str) -> RedirectResponse:
    """Lead to a path of the service, relative to the sign-in: some proxies put their path before an absolute one."""
    # "./" also keeps a path such as //name, which browsers resolve as another host, below the service
    path = re.split("[?#]", next_path, maxsplit=1)[0]
    leads_out = any(UPWARD.fullmatch(name) for name in re.split(r"[/\\]", path))
    return RedirectResponse("./" + ("" if leads_out else next_path.lstrip("/\\")), status_code=303)


def client_address(request: Request) -> str:
    """Return the address whose failed attempts are counted together."""
    return request.client.host if request.client else ""


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of the form; raise TooLarge beyond MAX_FORM_BYTES."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise TooLarge(f"the form has more than {MAX_FORM_BYTES:,} bytes")
    return dict(parse_qsl(body.decode(errors="replace")))
