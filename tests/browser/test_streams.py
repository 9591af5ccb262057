"""Test pages that follow a stream of changes, in a real browser: nothing is polled, and a restart is survived."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request

from bigbatch.client import Client
from store.session import engine_for
from tests.testing.dashboard import LATEST_S, NEWEST, ROOT, TRIES, Dashboard, serving_api
from tests.testing.databases import copy_sqlite
from tests.testing.needs import require
from tests.testing.seed_dashboard import seed
from tests.testing.servers import free_port, wait_for

QUIET_S = 6.0  # a page without a stream polls every second or every five


class OwnService:
    """A service with an API that a test may end and start again at its address."""

    def __init__(self, dashboard: Dashboard, port: int) -> None:
        self.dashboard, self._port = dashboard, port
        self._api = serving_api(dashboard.runs.parent, port)
        self._api.__enter__()

    def end(self) -> None:
        """End the API."""
        self._api.__exit__(None, None, None)

    def start(self) -> None:
        """Start the API again."""
        self._api = serving_api(self.dashboard.runs.parent, self._port)
        self._api.__enter__()


@pytest.fixture
def service(tmp_path: Path, sqlite_template: Path) -> Iterator[OwnService]:
    require([] if (ROOT / "web" / "dist" / "index.html").exists() else ["needs the built dashboard"])
    engine = engine_for(copy_sqlite(sqlite_template, tmp_path / "bigbatch.db"))
    ids, port = seed(engine, tmp_path / "runs"), free_port()
    dashboard = Dashboard(f"http://localhost:{port}", ids, engine, token="", runs=tmp_path / "runs")
    own = OwnService(dashboard, port)
    yield own
    own.end()
    engine.dispose()


@pytest.fixture
def page(chromium: Browser, service: OwnService, tmp_path: Path) -> Iterator[Page]:
    """A page that is signed in and shows the growing run."""
    with chromium.new_context() as context, Client(service.dashboard.url, (tmp_path / "token").read_text()) as client:
        page = context.new_page()
        page.goto(client.sign_in_url(f"/runs/{service.dashboard.ids['growing']}"))
        yield page


def requests_of(page: Page) -> list[str]:
    """Return the list to which each further request for data is added."""
    found: list[str] = []

    def note(request: Request) -> None:
        path = request.url.partition("/api/v1")[2]
        # the state of the scheduler and of checkpoints has no events
        if path and not path.startswith(("/ready", "/events", "/clusters")) and "/checkpoints" not in path:
            found.append(path)

    page.on("request", note)
    return found


def is_quiet(page: Page, found: list[str]) -> Callable[[], bool]:
    """Return whether the page asks for nothing while nothing changes."""

    def ask() -> bool:
        before = len(found)
        page.wait_for_timeout(1000 * QUIET_S)
        return len(found) == before

    return ask


def test_a_point_appears_within_seconds_and_nothing_is_polled(page: Page, service: OwnService) -> None:
    run_id = service.dashboard.ids["growing"]
    page.wait_for_function(f"() => ({NEWEST})() > 0")
    found = requests_of(page)
    wait_for("a page that asks for nothing", is_quiet(page, found))

    def grows_in_time() -> bool:
        found.clear()
        last, stored = service.dashboard.grow(run_id, 5), time.monotonic()
        page.wait_for_function(f"() => ({NEWEST})() === {last}", timeout=30_000)
        took_s = time.monotonic() - stored
        # one request for the points; a page of a busy machine may have asked before all were stored
        assert 1 <= len([path for path in found if "/curves" in path]) <= 2, found
        return took_s < LATEST_S

    assert any(all(grows_in_time() for _ in range(3)) for _ in range(TRIES))


def test_a_page_goes_on_after_the_api_was_started_again(page: Page, service: OwnService) -> None:
    """Forces the cut: the API ends, points are stored meanwhile, and the API starts at the same address."""
    run_id = service.dashboard.ids["growing"]
    page.wait_for_function(f"() => ({NEWEST})() > 0")
    page.evaluate("window.untouched = true")
    found = requests_of(page)
    wait_for("a page that asks for nothing", is_quiet(page, found))
    began = time.monotonic()
    service.end()
    assert time.monotonic() - began < 60, "an open page does not keep the API from ending"
    page.get_by_text("The page asks again every few seconds.").wait_for()
    missed = service.dashboard.grow(run_id, 5)
    service.start()
    page.wait_for_function(f"() => ({NEWEST})() === {missed}", timeout=60_000)
    wait_for("a page that asks for nothing", is_quiet(page, found))
    last = service.dashboard.grow(run_id, 5)
    page.wait_for_function(f"() => ({NEWEST})() === {last}", timeout=60_000)
    assert page.evaluate("window.untouched"), "without a reload"
    assert page.get_by_text("The page asks again every few seconds.").count() == 0
