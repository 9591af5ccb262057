"""Who may come in: the token, the host's name and the page a request comes from.

Without a token the service answers to loopback names alone, so that no page on the web can reach it through a name
of its own (DNS rebinding). With a token every request needs it: as `Authorization: Bearer`, or as the cookie that a
first visit to any address with `?token=` leaves in a browser.
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
<form><label for="token">This Bigbatch needs its token</label>
<input id="token" name="token" type="password" autofocus required><button>Open</button></form>"""


class Guard:
    """ASGI middleware; stands before everything else."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        response = self._turn_away(scope)
        await (response or self.app)(scope, receive, send)

    def _turn_away(self, scope: Scope) -> Response | None:
        """The answer to a request that may not pass; None for one that may."""
        headers = Headers(scope=scope)
        host = _host_of(f"//{headers.get('host', '')}")
        if not self.token and host not in LOOPBACK:
            return respond(Forbidden(f"without a token this service answers to localhost only, not to '{host}'"))
        origin = headers.get("origin")
        if origin and scope["method"] not in ("GET", "HEAD") and origin.partition("://")[2] != headers.get("host"):
            return respond(Forbidden(f"a page of {origin} may not change anything here"))
        return self._ask_token(scope, headers) if self.token else None

    def _ask_token(self, scope: Scope, headers: Headers) -> Response | None:
        brought = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if brought and self._is_token(brought):
            return _sign_in(scope["path"], brought)
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._is_token(bearer) or self._is_token(cookie_parser(headers.get("cookie", "")).get(COOKIE, "")):
            return None
        refused: ApiError = Unauthorized("this service needs its token: Authorization: Bearer TOKEN")
        if "text/html" in headers.get("accept", "") and not scope["path"].startswith("/api/"):
            return HTMLResponse(SIGN_IN, status_code=401)
        return respond(refused)

    def _is_token(self, brought: str) -> bool:
        return compare_digest(brought.encode(), self.token.encode())


def _host_of(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:  # "[" and the like
        return ""


def _sign_in(path: str, token: str) -> Response:
    # one leading slash, and no backslash, which browsers read as one: //elsewhere would lead away
    response = RedirectResponse("/" + path.lstrip("/\\"), status_code=303)
    response.set_cookie(COOKIE, token, httponly=True, samesite="strict", max_age=30 * 24 * 3600)
    return response
