"""The built dashboard: its files, and its page for the paths that it has; other paths do not exist."""

import mimetypes
from pathlib import Path
from typing import Annotated

from fastapi import FastAPI, Header
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from api.http.methods import DASHBOARD_ROUTE
from contract.settings import PAGES

DIST = Path(__file__).parents[1] / "web" / "dist"


def install(app: FastAPI, dist: Path | None = None, *, root: str = "") -> None:
    """Serve the dashboard's files below the path `root`; without a build, answer with the build command."""
    dist = (dist or DIST).resolve()
    index = dist / "index.html"
    if (dist / "assets").is_dir():
        app.mount("/assets", _Assets(directory=dist / "assets"), name="assets")

    @app.get("/{path:path}", include_in_schema=False, name=DASHBOARD_ROUTE)
    def page(path: str, accept: Annotated[str, Header()] = "") -> Response:
        if path.startswith("api/"):
            raise HTTPException(405)  # the handler of errors answers 404 for a path without any method
        is_page = path.partition("/")[0] in {"", "index.html", *PAGES}
        if not is_page and "text/html" not in accept and _file(dist, path) is None:
            raise HTTPException(404)
        if not index.exists():
            return PlainTextResponse("The dashboard is not built yet: npm ci && npm run build in web/\n", 404)
        # The page changes with an upgrade; its code and style have a hash in their names. The few other files may be
        # old once: a browser shows the one that it has, and asks for the next opening.
        file = _file(dist, path)
        if file in (None, index):
            # in a browser the page says that an unknown path does not exist
            status = 200 if is_page else 404
            return HTMLResponse(_page_below(root, index), status, headers={"Cache-Control": "no-cache"})
        return FileResponse(file, headers={"Cache-Control": "max-age=0, stale-while-revalidate=604800"})


def _page_below(root: str, index: Path) -> str:
    """Return the page for addresses below `root`.

    The build names its files relative to the page, because it does not know the root, and pages are in several folders.
    """
    text = index.read_text(encoding="utf-8")
    return text.replace('data-root=""', f'data-root="{root}"').replace('="./', f'="{root}/')


class _Assets(StaticFiles):
    """Files with a hash of their content in their names: a browser keeps them, and the build has compressed them."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        compressed = await self._compressed(path, scope)
        response = compressed or await super().get_response(path, scope)
        if response.status_code < 400:
            response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
            response.headers["Vary"] = "Accept-Encoding"
        return response

    async def _compressed(self, path: str, scope: Scope) -> Response | None:
        """Return the compressed file, if there is one and the client takes it."""
        if "gzip" not in Headers(scope=scope).get("Accept-Encoding", ""):
            return None
        try:
            response = await super().get_response(f"{path}.gz", scope)
        except HTTPException:
            return None
        response.headers["Content-Encoding"] = "gzip"
        response.headers["Content-Type"] = mimetypes.guess_type(path)[0] or "application/octet-stream"
        return response


def _file(dist: Path, path: str) -> Path | None:
    """Return the dashboard's file at `path`; None without one."""
    try:
        file = (dist / path).resolve()
        return file if path and file.is_relative_to(dist) and file.is_file() else None
    except (OSError, ValueError):  # not a valid file name
        return None
