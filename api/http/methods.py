"""HTTP methods: HEAD for each GET, and the methods that a path allows."""

from starlette.applications import Starlette
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
DASHBOARD_ROUTE = "dashboard"  # name of the route of all paths outside /api
IS_HEAD_KEY = "bigbatch.is_head"  # key in the ASGI scope: an answer that never ends has only its headers


class HeadMiddleware:
    """ASGI middleware that answers HEAD with the headers of GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the request; for HEAD run GET and drop the body."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return

        async def send_headers(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        await self.app({**scope, "method": "GET", IS_HEAD_KEY: True}, receive, send_headers)


def allowed_methods(app: Starlette, scope: Scope) -> list[str]:
    """Return the methods that the path of the request allows, in the order of METHODS; none for an unknown path."""
    is_api = scope["path"].startswith("/api/")
    routes = [route for route in app.routes if not (is_api and getattr(route, "name", "") == DASHBOARD_ROUTE)]
    found = [
        method
        for method in METHODS
        if any(route.matches({**scope, "method": method})[0] is Match.FULL for route in routes)
    ]
    return ["GET", "HEAD", *found[1:]] if "GET" in found else found
