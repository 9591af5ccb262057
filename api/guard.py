"""Access control: the token, the host name and the origin of a request.

Without a token the service answers only requests to loopback names, so that no web page can reach the service through
its own domain (DNS rebinding). With a token every request needs the token: as `Authorization: Bearer`, or as a cookie.
A browser gets the cookie by a visit with `?token=`.
"""

from hmac import compare_digest
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from api.errors import ApiError, Forbidden, Unauthorized, respond

LOOPBACK = {"localhost", "127.0.0.1", "::1"}
COOKIE = "bigbatch_token"
SIGN_IN = """<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Bigbatch</title><style>
body{font:16px system-ui;display:grid;place-content:center;height:90vh;color-scheme:light dark}
form{display:grid;gap:.75rem}input,button{font:inherit;padding:.5rem .75rem}</style>
<form><label for="token">Enter the token of this Bigbatch service</label>
<input id="token" name="token" type="password" autofocus required><button>Open</button></form>"""


class AccessMiddleware:
    """ASGI middleware that runs before all others and refuses requests without access."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        response = self._refusal(scope)
        await (response or self.app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the error response to a request without access; None for a request with access."""
        headers = Headers(scope=scope)
        host = _host_of(f"//{headers.get('host', '')}")
        if not self.token and host not in LOOPBACK:
            return respond(
                Forbidden(f"host '{host}' is not allowed: without BIGBATCH_TOKEN the service answers to localhost only")
            )
        origin = headers.get("origin")
        if origin and scope["method"] not in ("GET", "HEAD") and origin.partition("://")[2] != headers.get("host"):
            return respond(Forbidden(f"requests from pages of {origin} are not allowed"))
        return self._check_token(scope, headers) if self.token else None

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if given and self._is_token(given):
            return _sign_in(scope["path"], given)
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._is_token(bearer) or self._is_token(cookie_parser(headers.get("cookie", "")).get(COOKIE, "")):
            return None
        refused: ApiError = Unauthorized("the token is missing or wrong: send Authorization: Bearer TOKEN")
        if "text/html" in headers.get("accept", "") and not scope["path"].startswith("/api/"):
            return HTMLResponse(SIGN_IN, status_code=401)
        return respond(refused)

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(), self.token.encode())


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # for example "["
        return ""


def _sign_in(path: str, token: str) -> Response:
    # Exactly one leading slash or backslash: browsers resolve //name as another host.
    response = RedirectResponse("/" + path.lstrip("/\\"), status_code=303)
    response.set_cookie(COOKIE, token, httponly=True, samesite="strict", max_age=30 * 24 * 3600)
    return response
