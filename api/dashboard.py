"""The built dashboard: its files, and its page for all other paths outside /api."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from api.http.methods import DASHBOARD_ROUTE

DIST = Path(__file__).parents[1] / "web" / "dist"


def install(app: FastAPI, dist: Path = DIST) -> None:
    """Serve the dashboard's files; without a build, answer with the build command."""
    index = dist / "index.html"
    if (dist / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=dist / "assets"), name="assets")

    @app.get("/{path:path}", include_in_schema=False, name=DASHBOARD_ROUTE)
    def page(path: str) -> Response:
        if path.startswith("api/"):
            raise HTTPException(405)  # the handler of errors answers 404 for a path without any method
        if not index.exists():
            return PlainTextResponse("The dashboard is not built yet: npm ci && npm run build in web/\n", 404)
        # Only the page changes with an upgrade: the files that the page loads have a hash in their names.
        return FileResponse(_file(dist, path) or index, headers={"Cache-Control": "no-cache"})


def _file(dist: Path, path: str) -> Path | None:
    """Return the dashboard's file at `path`; None without one."""
    try:
        file = (dist / path).resolve()
        return file if path and file.is_relative_to(dist.resolve()) and file.is_file() else None
    except (OSError, ValueError):  # not a valid file name
        return None
