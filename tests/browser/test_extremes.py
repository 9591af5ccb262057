"""Pages of extreme rows in a real browser: they stay short, nothing scrolls sideways, and what matters is visible."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, expect

from bigbatch.client import Client
from store.session import engine_for
from tests.testing.dashboard import Dashboard, serving_api
from tests.testing.databases import copy_sqlite
from tests.testing.needs import require
from tests.testing.seed_dashboard import seed
from tests.testing.seed_extremes import NODES, PREEMPTIONS, RANKS, SLOW_RANK, seed_extremes

Opener = Callable[..., Page]
BUILT = Path(__file__).parents[2] / "web" / "dist" / "index.html"

# widths of the segments of the timeline, by the length that their titles name
SEGMENTS = """bar => [...bar.children].map(part => [part.title, part.getBoundingClientRect().width])"""
# how often each canvas was cleared, which a repaint begins with
COUNT_CLEARS = """
window.clears = new Map();
const clear = CanvasRenderingContext2D.prototype.clearRect;
CanvasRenderingContext2D.prototype.clearRect = function (...area) {
  window.clears.set(this.canvas, (window.clears.get(this.canvas) ?? 0) + 1);
  return clear.apply(this, area);
};
"""
CLEARS_OF_CURVES = "() => window.clears.get(document.querySelector('[role=slider] canvas'))"


@pytest.fixture(scope="module")
def extremes(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Dashboard]:
    require([] if BUILT.exists() else ["needs the built dashboard: npm ci && npm run build in web/"])
    home = tmp_path_factory.mktemp("extremes")
    engine = engine_for(copy_sqlite(sqlite_template, home / "bigbatch.db"))
    ids = seed(engine, home / "runs") | seed_extremes(engine, home / "runs")
    with serving_api(home) as url:
        yield Dashboard(url, ids, engine, token=(home / "token").read_text(), runs=home / "runs")


@pytest.fixture
def open_extreme(chromium: Browser, extremes: Dashboard) -> Iterator[Opener]:
    contexts: list[BrowserContext] = []

    def opened(path: str, width: int = 1280) -> Page:
        size: ViewportSize = {"width": width, "height": 900}
        context = chromium.new_context(viewport=size)
        contexts.append(context)
        page = context.new_page()
        page.add_init_script(COUNT_CLEARS)
        with Client(extremes.url, extremes.token) as client:
            page.goto(client.sign_in_url(path))
        page.wait_for_url(f"{extremes.url}{path}")
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [390, 1440])
def test_sixty_preemptions_push_no_chart_away(open_extreme: Opener, extremes: Dashboard, width: int) -> None:
    page = open_extreme(f"/runs/{extremes.ids['preempted']}", width)
    chart = page.get_by_role("slider").first
    chart.wait_for()
    assert chart.evaluate("chart => chart.getBoundingClientRect().top + scrollY") < (1300 if width < 800 else 1000)
    page.get_by_text(f"{PREEMPTIONS - 3} earlier restarts").click()
    expect(page.get_by_text("attempt 2 resumed from step 1;", exact=False)).to_be_visible()


def test_the_segments_of_the_timeline_are_as_long_as_their_times(open_extreme: Opener, extremes: Dashboard) -> None:
    page = open_extreme(f"/runs/{extremes.ids['preempted']}", 2560)
    bar = page.get_by_role("img", name="Time in each state")
    bar.wait_for()
    found = bar.evaluate(SEGMENTS)
    running = [width for title, width in found if title == "running, 2 min"]
    waiting = [width for title, width in found if title == "pending, 10 s"]
    assert (len(running), len(waiting)) == (PREEMPTIONS, PREEMPTIONS + 1)
    assert sum(running) / len(running) == pytest.approx(12 * sum(waiting) / len(waiting), rel=0.25)


@pytest.mark.parametrize("width", [390, 1440])
def test_a_thousand_ranks_have_bars_that_can_be_seen(open_extreme: Opener, extremes: Dashboard, width: int) -> None:
    page = open_extreme(f"/runs/{extremes.ids['preempted']}", width)
    bars = page.get_by_role("slider", name=f"Time of a step on each of {RANKS} ranks; the slowest is rank {SLOW_RANK}")
    bars.wait_for()
    widths = bars.evaluate("bars => [...bars.children].map(bar => bar.children[0].getBoundingClientRect().width)")
    assert min(widths) >= 3
    expect(page.get_by_text(f"slowest: rank {SLOW_RANK}", exact=False)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0


def test_a_cluster_of_many_nodes_is_a_short_page(open_extreme: Opener) -> None:
    page = open_extreme("/clusters")
    nodes = page.get_by_role("region", name="Nodes", exact=True).first
    nodes.wait_for()
    assert page.evaluate("document.documentElement.scrollHeight") < 4000
    expect(page.get_by_text(f"Nodes: 50 of {NODES:,}")).to_be_visible()
    page.get_by_role("button", name="200 more").last.click()
    expect(page.get_by_text(f"Nodes: 250 of {NODES:,}")).to_be_visible()


def test_a_diverged_curve_flattens_no_other(open_extreme: Opener, extremes: Dashboard) -> None:
    page = open_extreme(f"/experiments/{extremes.ids['diverged_sweep']}?tab=curves")
    expect(page.get_by_text("12 curves leave the picture, which shows 96", exact=False)).to_be_visible()
    page.get_by_text("Training loss", exact=True).click()
    expect(page.get_by_text("1 curve leaves the picture, which shows 0.02300 to 2.300", exact=False)).to_be_visible()
    page.get_by_role("switch", name="whole range").click()
    expect(page.get_by_text("leaves the picture", exact=False)).to_have_count(0)


def test_a_pointer_on_rows_repaints_no_curve(open_extreme: Opener, extremes: Dashboard) -> None:
    page = open_extreme(f"/experiments/{extremes.ids['diverged_sweep']}?tab=curves")
    page.get_by_text("Training loss", exact=True).click()
    expect(page.get_by_role("slider")).to_have_attribute("aria-valuetext", re.compile("^step 100: 12 curves"))
    page.wait_for_load_state("networkidle")
    before = page.evaluate(CLEARS_OF_CURVES)
    for name in ("0.1", "0.15", "0.2"):
        page.get_by_role("button", name=name, exact=True).hover()
    expect(page.get_by_test_id("readout")).to_contain_text("rate 0.2")
    assert page.evaluate(CLEARS_OF_CURVES) == before
