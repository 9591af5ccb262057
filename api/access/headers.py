"""Security headers, which every response has."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The dashboard loads its own files only. `data:` is for images and fonts that the build puts into the style sheet.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def holds_data(path: str) -> bool:
    """Return whether responses at the path hold data of the service; others are the dashboard's own files."""
    return path.startswith("/api/") or path == "/metrics"


def security_headers(path: str) -> dict[str, str]:
    """Return the security headers of a response at the path; a response may replace one."""
    headers = {
        "Content-Security-Policy": CONTENT_POLICY,
        # "no-referrer" would also hide the origin of the pages' own forms, which the guard compares
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
    }
    return {**headers, "Cache-Control": "no-store"} if holds_data(path) else headers


class SecurityHeadersMiddleware:
    """ASGI middleware that adds the security headers to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in security_headers(scope["path"]).items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)
