"""Pages of workflows, searches, schedules and messages in a real browser: the graph, widths, findings of axe."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect
from sqlalchemy import select

from bigbatch.client import Client
from store.session import engine_for, snapshot
from store.tables.steps import Step
from tests.testing.accessibility import in_dark, serious
from tests.testing.dashboard import ROOT, Dashboard, serving_api
from tests.testing.databases import copy_sqlite
from tests.testing.needs import require
from tests.testing.workflows import program

Opener = Callable[..., Page]
SIDEWAYS = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
LOCAL: dict[str, Any] = {"resources": {"kind": "local"}}
WORKFLOW: dict[str, Any] = {
    "name": "from rates to a report",
    "steps": [
        {"name": "prepare", "base": program("seq 4 > {outputs.rates}", outputs={"rates": "rates.txt"}, **LOCAL)},
        {
            "name": "tune",
            "base": program("echo {rate}", parameters={"rate": 0.1}, **LOCAL),
            "over": {"parameters.rate": "{steps.prepare.outputs.rates}"},
        },
        {"name": "report", "needs": ["tune"], "base": program("cat {steps.prepare.outputs.rates}", **LOCAL)},
    ],
}
SEARCH: dict[str, Any] = {
    "name": "a rate between two bounds",
    "base": {
        "optimizer": {"kind": "sgd"},
        "schedule": {"kind": "constant", "rate": 0.1},
        "batch": 64,
        "epochs": 2,
        "resources": {"kind": "local"},
    },
    "search": {
        "space": {"schedule.rate": {"kind": "log_uniform", "low": 0.001, "high": 1.0}},
        "sampler": {"kind": "tpe"},
        "metric": "heldout_accuracy",
        "trials": 8,
    },
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Dashboard]:
    """A service without a scheduler, which has a workflow and a search."""
    built = (ROOT / "web" / "dist" / "index.html").exists()
    require([] if built else ["needs the built dashboard: npm ci && npm run build in web/"])
    home = tmp_path_factory.mktemp("workflows")
    engine = engine_for(copy_sqlite(sqlite_template, home / "bigbatch.db"))
    with serving_api(home) as url:
        token = (home / "token").read_text()
        with Client(url, token) as client:
            ids = {"workflow": client.create(WORKFLOW).id, "search": client.create(SEARCH).id}
        yield Dashboard(url, ids, engine, token=token, runs=home / "runs")


@pytest.fixture
def open_site(chromium: Browser, site: Dashboard) -> Iterator[Opener]:
    """Return `open_site(path, width)`; fail on errors in the console of its pages."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def opened(path: str, width: int = 1280) -> Page:
        size: ViewportSize = {"width": width, "height": 900}
        context = chromium.new_context(viewport=size)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        with Client(site.url, site.token) as client:
            page.goto(client.sign_in_url(path))
        page.wait_for_url(f"{site.url}{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


PAGES = {"workflow": "/experiments/{workflow}", "search": "/experiments/{search}", "automation": "/automation"}
TEXTS = {"workflow": "from rates to a report", "search": "a rate between two bounds", "automation": "Schedules"}


@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_a_serious_finding_or_scrolls_sideways(open_site: Opener, site: Dashboard, name: str) -> None:
    path = PAGES[name].format(**site.ids)
    page = open_site(path)
    expect(page.get_by_text(TEXTS[name]).first).to_be_visible()
    assert serious(page) == []
    assert in_dark(page) == []
    for width in (390, 2560):
        sized = open_site(path, width)
        expect(sized.get_by_text(TEXTS[name]).first).to_be_visible()
        assert sized.evaluate(SIDEWAYS) <= 0, width


def test_the_graph_shows_each_step_what_it_waits_for_and_opens_its_runs(open_site: Opener, site: Dashboard) -> None:
    page = open_site(f"/experiments/{site.ids['workflow']}")
    for name in ("prepare", "tune", "report"):
        expect(page.get_by_role("button", name=name).first).to_be_visible()
    page.get_by_role("button", name="tune").first.click()
    expect(page.get_by_test_id("step-facts")).to_contain_text("it waits for prepare")
    page.get_by_role("button", name="prepare").first.click()
    expect(page.get_by_role("link", name="Run 1")).to_be_visible()
    assert "step=prepare" in page.url


def test_a_workflow_is_submitted_again_from_a_step_of_its_graph(open_site: Opener, site: Dashboard) -> None:
    page = open_site(PAGES["workflow"].format(**site.ids))
    page.get_by_role("button", name="tune", exact=False).first.click()
    page.get_by_role("button", name="Rerun from this step").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("Step tune and all that need it are carried out")
    dialog.get_by_role("button", name="Submit").click()
    expect(dialog).to_have_count(0)
    number = int(urlsplit(page.url).path.rpartition("/")[2])
    assert number not in site.ids.values()
    with snapshot(site.engine) as db:
        force = {step.name: step.force for step in db.scalars(select(Step).where(Step.experiment_id == number))}
    assert force == {"prepare": False, "tune": True, "report": True}
