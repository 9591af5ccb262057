"""Define fixtures: a seeded service and a real Chromium."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, StorageState, ViewportSize, expect, sync_playwright

from bigbatch.client import Client
from store.session import engine_for
from tests.testing.dashboard import Dashboard
from tests.testing.databases import copy_sqlite
from tests.testing.needs import require
from tests.testing.seed_dashboard import seed
from tests.testing.servers import free_port, wait_for

expect.set_options(timeout=30_000)  # a busy machine needs several times longer than an idle machine
ROOT = Path(__file__).parents[2]
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Dashboard]:
    built = (ROOT / "web" / "dist" / "index.html").exists()
    require([] if built else ["needs the built dashboard: npm ci && npm run build in web/"])
    home = tmp_path_factory.mktemp("home")
    engine = engine_for(copy_sqlite(sqlite_template, home / "bigbatch.db"))
    ids = seed(engine, home / "runs")
    with _serving(home) as url:
        yield Dashboard(url, ids, engine, token=(home / "token").read_text())


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start the installed Chromium; do not download a browser."""
    found = filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))
    require([] if (path := next(found, None)) else ["needs Chromium"])
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def signed_in(chromium: Browser, dashboard: Dashboard) -> StorageState:
    """Sign a browser in by the link that `bigbatch up` prints; return its cookies."""
    with chromium.new_context() as context, Client(dashboard.url, dashboard.token) as client:
        page = context.new_page()
        page.goto(client.sign_in_url())
        page.wait_for_url(f"{dashboard.url}/")
        return context.storage_state()


@pytest.fixture
def open_page(chromium: Browser, dashboard: Dashboard, signed_in: StorageState) -> Iterator[Callable[..., Page]]:
    """Return `open_page(path, width=..., theme=...)`, which opens a page; fail on errors in its console."""
    errors: list[str] = []
    contexts: list[BrowserContext] = []

    def opened(path: str, *, width: int = 1280, theme: Literal["light", "dark"] = "light") -> Page:
        size: ViewportSize = {"width": width, "height": 900}
        context = chromium.new_context(viewport=size, color_scheme=theme, storage_state=signed_in)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(dashboard.url + path)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


@contextmanager
def _serving(home: Path) -> Iterator[str]:
    """Run the API as a separate process on a free port."""
    url = f"http://localhost:{(port := free_port())}"
    own = {"BIGBATCH_HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    environment = {**os.environ, **own, "BIGBATCH_DATABASE": "", "BIGBATCH_TOKEN": ""}
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
