"""The dashboard below a path of a host, behind nginx with TLS: by link, by reload, live, and out again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Response, expect

from bigbatch.client import Client
from store.session import engine_for
from tests.testing.dashboard import NEWEST, ROOT, Dashboard, serving_api
from tests.testing.databases import copy_sqlite
from tests.testing.needs import require
from tests.testing.proxy import KEPT, STRIPPED, nginx
from tests.testing.seed_dashboard import seed
from tests.testing.servers import free_port

SCRIPT = "() => document.querySelector('script[type=module]').src"


@pytest.fixture(params=[KEPT, STRIPPED])
def below(
    request: pytest.FixtureRequest, tmp_path: Path, sqlite_template: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Dashboard]:
    """The service behind the proxy, which leaves the path or cuts it off."""
    require([] if (ROOT / "web" / "dist" / "index.html").exists() else ["needs the built dashboard"])
    engine = engine_for(copy_sqlite(sqlite_template, tmp_path / "bigbatch.db"))
    ids, port = seed(engine, tmp_path / "runs"), free_port()
    with (
        serving_api(tmp_path, BIGBATCH_PUBLIC_URL=f"https://localhost:{port}/bigbatch") as url,
        nginx(tmp_path / "nginx", int(url.rpartition(":")[2]), request.param, port=port) as proxy,
    ):
        monkeypatch.setenv("SSL_CERT_FILE", str(proxy.certificate))
        monkeypatch.setenv("BIGBATCH_PUBLIC_URL", proxy.url)
        yield Dashboard(proxy.url, ids, engine, token=(tmp_path / "token").read_text(), runs=tmp_path / "runs")
    engine.dispose()


@pytest.fixture
def page(chromium: Browser, below: Dashboard) -> Iterator[Page]:
    """A page whose errors fail the test: of its console, and of what it asks the host for."""
    wrong: list[str] = []

    def note(response: Response) -> None:
        if response.status >= 400 or not response.url.startswith(f"{below.url}/"):
            wrong.append(f"{response.status} {response.url}")

    with chromium.new_context(ignore_https_errors=True) as context:
        page = context.new_page()
        page.on("response", note)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        yield page
    assert wrong == []


def test_the_dashboard_works_below_a_path(page: Page, below: Dashboard) -> None:
    run = below.ids["growing"]
    with Client(below.url, below.token) as client:
        page.goto(client.sign_in_url(f"/runs/{run}"))
    page.wait_for_url(f"{below.url}/runs/{run}")
    page.wait_for_function(f"() => ({NEWEST})() > 0")
    last = below.grow(run, 5)
    page.wait_for_function(f"() => ({NEWEST})() === {last}")
    assert page.evaluate(SCRIPT).startswith(f"{below.url}/assets/")

    page.get_by_role("link", name="Runs", exact=True).click()
    page.wait_for_url(f"{below.url}/runs")
    page.get_by_role("link", name=f"Run {run}", exact=True).wait_for()
    for path, heading in (("/runs", "Runs"), ("/clusters", "Clusters"), ("/collectives", "Collectives")):
        page.goto(below.url + path)
        page.reload()
        expect(page.get_by_role("heading", name=heading).first).to_be_visible()
        assert page.url == below.url + path
    page.get_by_role("link", name="Experiments", exact=True).click()
    page.wait_for_url(f"{below.url}/")
    page.get_by_role("link", name="torus on four nodes").click()
    page.wait_for_url(f"{below.url}/experiments/{below.ids['growing_experiment']}")
    page.go_back()
    page.wait_for_url(f"{below.url}/")


def test_the_stream_is_live_and_a_download_and_the_sign_out_stay_below_the_path(page: Page, below: Dashboard) -> None:
    with Client(below.url, below.token) as client, page.expect_request(f"{below.url}/api/v1/events*"):
        page.goto(client.sign_in_url("/runs"))
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as started:
        page.get_by_text("Runs as CSV").click()
    assert started.value.url.startswith(f"{below.url}/api/v1/export/")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(f"{below.url}/sign-in")
    assert page.context.cookies() == []
