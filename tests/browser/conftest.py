"""A seeded service, served as users get it, and a real Chromium in front of it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright
from sqlalchemy import Engine

from migrations.commands import upgrade
from store.session import engine_for, transaction
from store.tables import Run
from tests.testing.needs import require
from tests.testing.seed_dashboard import grow, seed
from tests.testing.servers import free_port, wait_for

expect.set_options(timeout=30_000)  # a busy machine takes several times as long as an idle one
ROOT = Path(__file__).parents[2]
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


@dataclass(frozen=True)
class Dashboard:
    """The address of the service, the rows in it, and a hand on a run that trains."""

    url: str
    ids: dict[str, int]
    engine: Engine

    def grow(self, run_id: int, steps: int) -> int:
        """Let a run take `steps` more steps; return the last one."""
        with transaction(self.engine) as db:
            run = db.get_one(Run, run_id)
            grow(db, run, run.step + steps)
            return run.step


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    built = (ROOT / "web" / "dist" / "index.html").exists()
    require([] if built else ["needs the built dashboard: npm ci && npm run build in web/"])
    home = tmp_path_factory.mktemp("home")
    database = f"sqlite:///{home / 'bigbatch.db'}"
    upgrade(database)
    engine = engine_for(database)
    ids = seed(engine, home / "runs")
    with _serving(home) as url:
        yield Dashboard(url, ids, engine)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The machine's own Chromium; Playwright's are not downloaded."""
    found = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    require([] if (path := next(found, None)) else ["needs Chromium"])
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser, dashboard: Dashboard) -> Iterator[Callable[..., Page]]:
    """`open_page(path, width=..., theme=...)`: a page at the dashboard; its console must stay free of errors."""
    said: list[str] = []
    contexts: list[BrowserContext] = []

    def opened(path: str, *, width: int = 1280, theme: Literal["light", "dark"] = "light") -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=theme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(dashboard.url + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []


@contextmanager
def _serving(home: Path) -> Iterator[str]:
    """The API as a process of its own on a free port."""
    url = f"http://localhost:{(port := free_port())}"
    environment = {**os.environ, "BIGBATCH_HOME": str(home), "BIGBATCH_DATABASE": "", "BIGBATCH_TOKEN": ""}
    process = subprocess.Popen([sys.executable, "-m", "api", "--port", str(port)], cwd=ROOT, env=environment)
    try:
        wait_for("the service", lambda: _answers(url))
        yield url
    finally:
        process.terminate()
        process.wait(60)


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/api/v1/health").is_success
    except httpx.HTTPError:
        return False
