"""The dashboard: the files that `npm run build` left, and its one page for every address of it."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, PlainTextResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

DIST = Path(__file__).parents[1] / "web" / "dist"


def install(app: FastAPI, dist: Path = DIST) -> None:
    """Serve the built dashboard, or say how to build it."""
    index = dist / "index.html"
    if (dist / "assets").is_dir():
        app.mount("/assets", StaticFiles(directory=dist / "assets"), name="assets")

    @app.get("/{path:path}", include_in_schema=False)
    def page(path: str) -> Response:
        if path.startswith("api/"):
            raise HTTPException(404, "Not Found")
        if not index.exists():
            return PlainTextResponse("The dashboard is not built yet: npm ci && npm run build in web/\n", 404)
        # the page itself must be asked for anew after an upgrade; what it loads carries a hash in its name
        return FileResponse(_file(dist, path) or index, headers={"Cache-Control": "no-cache"})


def _file(dist: Path, path: str) -> Path | None:
    """The file of the dashboard at `path`, if it is one."""
    try:
        file = (dist / path).resolve()
        return file if path and file.is_relative_to(dist.resolve()) and file.is_file() else None
    except (OSError, ValueError):  # a name that no file can have
        return None
