"""Test the dashboard in a real browser with a real service."""

import re
import time
from collections.abc import Callable

import pytest
from playwright.sync_api import CDPSession, Locator, Page, expect

from bigbatch.client import Client
from tests.testing.dashboard import LATEST_S, NEWEST, TRIES, Dashboard
from tests.testing.servers import wait_for

Opener = Callable[..., Page]


# newest first
SEEDED = ["rates of our own script", "until the loss is flat", "torus on four nodes", "a rate too far"]

PAPER = "getComputedStyle(document.documentElement).backgroundColor"

# the values of the axes have runs; a function, because the content policy lets no page evaluate a text
LEGEND_IS_READY = "() => document.querySelectorAll('[role=group] button[aria-pressed]:enabled').length > 2"

# the step of the crosshair in the focused chart
CROSSHAIR = "() => Number(document.activeElement.getAttribute('aria-valuenow'))"


def test_the_list_shows_all_experiments_newest_first(open_page: Opener, dashboard: Dashboard) -> None:
    page = open_page("/")
    page.get_by_role("link", name="torus on four nodes").wait_for()
    names = page.get_by_role("region", name="Experiments").get_by_role("link").all_inner_texts()
    shown = [name for name in names if name in SEEDED]
    assert shown == SEEDED


def test_a_curve_grows_without_a_reload_within_three_seconds(open_page: Opener, dashboard: Dashboard) -> None:
    page = open_page(f"/runs/{dashboard.ids['growing']}")
    page.wait_for_function(f"() => ({NEWEST})() > 0")
    page.evaluate("window.untouched = true")

    def grows_in_time() -> bool:
        last, stored = dashboard.grow(dashboard.ids["growing"], 5), time.monotonic()
        page.wait_for_function(f"() => ({NEWEST})() === {last}", timeout=30_000)
        return time.monotonic() - stored < LATEST_S

    assert any(all(grows_in_time() for _ in range(3)) for _ in range(TRIES))
    assert page.evaluate("window.untouched")
    # new points do not count as a zoom
    assert not page.get_by_role("button", name="Reset zoom").count()


def test_the_overlaid_curves_of_an_experiment_grow(open_page: Opener, dashboard: Dashboard) -> None:
    page = open_page(f"/experiments/{dashboard.ids['growing_experiment']}")
    page.get_by_text("Training loss", exact=True).click()
    chart = page.get_by_role("slider", name="Training loss")
    last = dashboard.grow(dashboard.ids["growing"], 5)
    page.wait_for_function(
        "([chart, last]) => Number(chart.getAttribute('aria-valuemax')) === last",
        arg=[chart.element_handle(), last],
        timeout=30_000,
    )


def test_the_pointer_on_a_row_dims_the_other_curves(open_page: Opener, dashboard: Dashboard) -> None:
    page = open_page(f"/experiments/{dashboard.ids['grid']}?tab=curves")
    row = page.locator("tr", has=page.get_by_role("link", name="Run 9", exact=True))
    page.wait_for_function(LEGEND_IS_READY)
    # each curve that arrives makes a new canvas, and eight of the twelve runs have one
    chart = page.get_by_role("slider")
    expect(chart).to_have_attribute("aria-valuetext", re.compile(": 8 curves"))
    plain = chart.screenshot()
    row.hover()
    page.locator("tr[data-highlighted=true]").wait_for()
    run_9 = re.compile(r"^Run 9, rate 0.8, batch 512: \d+\.\d+% at step 960")
    expect(page.get_by_test_id("readout")).to_have_text(run_9)
    # a screenshot may scroll the page, so that the pointer is on another row
    wait_for("dimmed curves", lambda: chart.screenshot() != plain, 30)


def test_the_stop_button_asks_for_confirmation_and_then_posts(open_page: Opener, dashboard: Dashboard) -> None:
    page = open_page(f"/experiments/{dashboard.ids['grid']}?tab=curves")
    posted: list[str] = []
    page.on("request", lambda request: posted.append(request.url) if request.method == "POST" else None)
    stop = page.get_by_role("button", name=re.compile("^Stop 4 runs$")).first
    stop.click()
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")
    assert posted == []
    stop.click()
    with page.expect_response(lambda response: response.request.method == "POST"):
        page.get_by_role("dialog").get_by_role("button", name="Stop 4 runs").click()
    page.get_by_role("button", name="Stopping…").wait_for()
    path = f"/experiments/{dashboard.ids['grid']}"
    assert [url.rpartition("/api/v1")[2] for url in posted] == [f"{path}/stop"]
    runs = Client(dashboard.url, dashboard.token).runs(dashboard.ids["grid"])
    assert sum(run.stopping for run in runs) == 4


def test_the_reason_of_a_failure_is_the_first_panel_below_the_title(open_page: Opener, dashboard: Dashboard) -> None:
    page = open_page(f"/runs/{dashboard.ids['failed']}")
    status, metrics = (page.get_by_role("region", name=name) for name in ("Status", "Metrics"))
    assert _top(page.get_by_role("heading", level=1)) < _top(status) < _top(metrics)
    expect(status).to_contain_text("loss is nan")
    expect(status).to_contain_text("Rank 2 failed first on cpu-2: an error in Python")
    expect(status.locator("pre")).to_contain_text("raise Diverged")
    status.get_by_text("7 other ranks exited afterwards").click()
    expect(status.locator("details")).to_contain_text("+0.003 s rank 1 on cpu-1")


def test_the_checkpoint_advice_shows_interval_and_interruptions(open_page: Opener, dashboard: Dashboard) -> None:
    for path in (f"/runs/{dashboard.ids['growing']}", f"/experiments/{dashboard.ids['growing_experiment']}"):
        advice = open_page(path).get_by_role("region", name="Checkpoints", exact=True)
        expect(advice).to_contain_text("Best interval")
        expect(advice).to_contain_text("3 interruptions in")


def test_the_page_names_the_slowest_rank_and_the_pointer_selects_another_rank(
    open_page: Opener, dashboard: Dashboard
) -> None:
    page = open_page(f"/runs/{dashboard.ids['growing']}")
    ranks = page.get_by_role("slider", name="Time of a step on each of 8 ranks; the slowest is rank 5")
    ranks.wait_for()
    page.get_by_text("slowest: rank 5 compute 27 ms").wait_for()
    ranks.locator("div").nth(2).hover()
    page.get_by_text("rank 2 compute 21.2 ms").wait_for()


@pytest.mark.parametrize("width", [360, 800, 1440])
def test_no_page_scrolls_sideways(open_page: Opener, dashboard: Dashboard, width: int) -> None:
    ids = dashboard.ids
    paths = [
        "/",
        f"/experiments/{ids['grid']}",
        f"/runs/{ids['growing']}",
        f"/runs/{ids['failed']}",
        "/clusters",
        "/runs",
    ]
    for path in paths:
        page = open_page(path, width=width)
        page.locator("h1").wait_for()
        page.wait_for_timeout(500)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0, path


@pytest.mark.parametrize("path", ["/", "/runs", "/experiments/{grid}", "/runs/{failed}"])
def test_a_page_that_nobody_touches_leaves_the_processor_idle(
    open_page: Opener, dashboard: Dashboard, path: str
) -> None:
    page = open_page(path.format(**dashboard.ids))
    page.locator("h1").wait_for()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def busy_share() -> float:
        """Return the share of two seconds in which the page's thread worked."""
        before = _measured(session)
        page.wait_for_timeout(2000)
        after = _measured(session)
        return (after["TaskDuration"] - before["TaskDuration"]) / (after["Timestamp"] - before["Timestamp"])

    # a page that renders without an end has a share of one; a busy machine lengthens the first picture
    wait_for("an idle page", lambda: busy_share() < 0.5, 60)


def _measured(session: CDPSession) -> dict[str, float]:
    return {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}


def test_the_keyboard_leads_from_the_list_to_a_run(open_page: Opener, dashboard: Dashboard) -> None:
    page = open_page("/")
    page.get_by_role("link", name="torus on four nodes").wait_for()
    page.keyboard.press("Tab")
    assert _focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    _tab_to(page, "learning rate against batch size")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Run 5", exact=True).wait_for()
    _tab_to(page, "Run 5")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*")
    page.get_by_role("heading", name="Run 5").wait_for()
    page.get_by_role("slider").first.wait_for()
    _tab_to(page, "")  # the first chart
    newest = page.evaluate(CROSSHAIR)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"() => ({CROSSHAIR})() < {newest}", timeout=30_000)


def test_the_arrow_keys_select_and_read_a_curve(open_page: Opener, dashboard: Dashboard) -> None:
    page = open_page(f"/experiments/{dashboard.ids['grid']}?tab=curves")
    page.wait_for_function(LEGEND_IS_READY)
    _tab_to(page, "")
    readout = page.get_by_test_id("readout")
    expect(readout).to_have_text("↑ and ↓ select a curve")
    page.keyboard.press("ArrowDown")
    expect(readout).to_have_text(re.compile(r"^Run \d+, .*: \d+\.\d+% at step \d+"))
    first = readout.inner_text().partition(",")[0]
    page.keyboard.press("ArrowDown")
    expect(readout).not_to_have_text(re.compile(f"^{first},"))
    second = readout.inner_text()
    # the crosshair moves along the selected curve
    page.keyboard.press("PageDown")
    expect(readout).not_to_have_text(second)
    assert readout.inner_text().partition(":")[0] == second.partition(":")[0]


def test_the_themes_differ_and_the_browser_stores_the_choice(open_page: Opener, dashboard: Dashboard) -> None:
    light, dark = open_page("/", theme="light"), open_page("/", theme="dark")
    assert _paper(light) != _paper(dark)
    light.get_by_role("button", name="Change to the dark theme").click()
    light.wait_for_function(f"paper => {PAPER} === paper", arg=_paper(dark))
    light.reload()
    light.wait_for_function(f"paper => {PAPER} === paper", arg=_paper(dark))


def _top(element: Locator) -> float:
    """Return the distance of the element from the top of the page, in pixels."""
    element.wait_for()
    box = element.bounding_box()
    assert box is not None
    return box["y"]


def _settled_top(page: Page) -> float:
    """Return the top of the chart once it has not moved for half a second: a busy machine draws late."""
    page.wait_for_function("() => document.fonts.status === 'loaded'")  # another font has lines of another height
    before = _top(page.get_by_role("slider"))
    for _ in range(60):
        page.wait_for_timeout(500)
        if (now := _top(page.get_by_role("slider"))) == before:
            return now
        before = now
    raise AssertionError("the chart moves without an end")


def _focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.innerText"))


def _tab_to(page: Page, text: str) -> None:
    """Press Tab until the element with the text `text` has the focus; a chart has no text."""
    for _ in range(60):
        page.keyboard.press("Tab")
        role = page.evaluate("document.activeElement.getAttribute('role')")
        if _focused(page).strip() == text and (text or role == "slider"):
            return
    raise AssertionError(f"60 times Tab did not reach '{text}'")


def _paper(page: Page) -> str:
    return str(page.evaluate(PAPER))


def test_a_click_on_a_series_neither_shows_the_radio_button_nor_moves_the_chart(
    open_page: Opener, dashboard: Dashboard
) -> None:
    page = open_page(f"/experiments/{dashboard.ids['grid']}?tab=curves")
    page.wait_for_function(LEGEND_IS_READY)
    top = _settled_top(page)
    page.get_by_text("Training loss", exact=True).click()
    page.wait_for_function("() => document.activeElement.type === 'radio'")
    assert page.evaluate("document.activeElement.offsetWidth") <= 1
    assert _settled_top(page) == top
