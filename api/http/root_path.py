"""The first part of every path where a proxy gives the service a part of its host, such as /bigbatch.

A proxy either cuts this part off before it passes a request on, or leaves it. Both arrive here, and all code behind
this middleware sees paths without it. What leads back to the service, such as a redirect, needs `root_of`. No header of
a request changes it: any client could send one.
"""

from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

ROOT_KEY = "bigbatch.root_path"  # key in the ASGI scope


def root_of(scope: Scope) -> str:
    """Return what the service's paths begin with outside of it: "" or "/bigbatch"."""
    root: str = scope.get(ROOT_KEY, "")
    return root


class RootPathMiddleware:
    """ASGI middleware that takes the root path off the path of each request."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self.app = app
        self._root, self._decoded = root, unquote(root)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the request below the root."""
        if scope["type"] == "http" and self._root:
            # in place: Starlette answers an unforeseen error from this scope, outside of every middleware
            scope[ROOT_KEY] = self._root
            scope["path"] = self._below(scope["path"])
        await self.app(scope, receive, send)

    def _below(self, path: str) -> str:
        rest = path.removeprefix(self._decoded)
        return rest or "/" if rest != path and rest[:1] in ("", "/") else path
