"""Define fixtures: a seeded service and a real Chromium."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    StorageState,
    ViewportSize,
    expect,
    sync_playwright,
)

from bigbatch.client import Client
from store.session import engine_for
from tests.testing.dashboard import CHROMIUM_FLAGS, ROOT, Dashboard, find_chromium, serving_api
from tests.testing.databases import copy_sqlite
from tests.testing.needs import require
from tests.testing.seed_dashboard import seed
from tests.testing.seed_pages import seed_pages
from tests.testing.seed_programs import seed_programs

expect.set_options(timeout=30_000)  # a busy machine needs several times longer than an idle machine


@pytest.fixture(scope="session")
def dashboard(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Dashboard]:
    built = (ROOT / "web" / "dist" / "index.html").exists()
    require([] if built else ["needs the built dashboard: npm ci && npm run build in web/"])
    home = tmp_path_factory.mktemp("home")
    engine = engine_for(copy_sqlite(sqlite_template, home / "bigbatch.db"))
    ids = seed(engine, home / "runs") | seed_programs(engine, home / "runs") | seed_pages(engine)
    with serving_api(home) as url:
        yield Dashboard(url, ids, engine, token=(home / "token").read_text(), runs=home / "runs")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start the installed Chromium; do not download a browser."""
    require([] if (path := find_chromium()) else ["needs Chromium"])
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
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


def _is_error(message: ConsoleMessage, url: str) -> bool:
    """Return whether a message is an error, and not that the page itself is answered by 404, as one that is unknown."""
    is_of_page = message.location.get("url") == url
    return message.type == "error" and not (is_of_page and "404 (Not Found)" in message.text)


@pytest.fixture
def open_page(chromium: Browser, dashboard: Dashboard, signed_in: StorageState) -> Iterator[Callable[..., Page]]:
    """Return `open_page(path, width=..., theme=...)`, which opens a page; fail on errors in its console."""
    errors: list[str] = []
    contexts: list[BrowserContext] = []

    def opened(path: str, *, width: int = 1280, theme: Literal["light", "dark"] = "light") -> Page:
        size: ViewportSize = {"width": width, "height": 900}
        url = dashboard.url + path
        context = chromium.new_context(viewport=size, color_scheme=theme, storage_state=signed_in)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: errors.append(message.text) if _is_error(message, url) else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []
