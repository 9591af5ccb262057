"""Test in a real browser with the real service: groups of runs, saved views and the command palette."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, expect

from tests.testing.dashboard import Dashboard

Opener = Callable[..., Page]


def query_of(url: str) -> dict[str, list[str]]:
    """Return the query of an address, decoded: two encodings of a character are equal."""
    return parse_qs(urlsplit(url).query)


def test_runs_are_grouped_opened_saved_as_a_view_and_found_by_the_palette(open_page: Opener) -> None:
    page = open_page("/runs?where=name+~+%22learning+rate%22")
    page.get_by_role("button", name="Groups", exact=True).click()
    page.get_by_role("list", name="Further fields").get_by_role("button", name="batch", exact=True).click()
    page.get_by_role("button", name="Close").click()
    table = page.get_by_role("region", name="Groups of runs")
    expect(page.get_by_text("3 groups of 12 runs")).to_be_visible()
    table.get_by_role("button", name="Runs of batch 256").click()
    expect(
        page.get_by_role("region", name="Runs of batch 256").get_by_role("link", name=re.compile("^Run"))
    ).to_have_count(4)

    page.get_by_role("button", name="Views").click()
    page.get_by_role("textbox", name="Save what the page shows as").fill("rates by batch")
    page.get_by_role("button", name="Save the view").click()
    expect(page.get_by_role("link", name="rates by batch")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    query = query_of(page.url)

    page.keyboard.press("Control+k")
    page.keyboard.type("clusters")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/clusters$"))
    page.keyboard.press("Control+k")
    page.keyboard.type("rates by")
    expect(page.get_by_role("option", name="rates by batch")).to_be_visible()
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: query_of(url) == query)
    expect(page.get_by_role("region", name="Runs of batch 256")).to_be_visible()

    page.get_by_role("button", name="View: rates by batch").click()
    page.get_by_role("button", name="Delete the view rates by batch").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("link", name="rates by batch")).to_be_visible()


def test_an_action_of_the_page_is_chosen_in_the_palette(open_page: Opener) -> None:
    page = open_page("/runs")
    expect(page.get_by_role("button", name="Columns")).to_be_visible()
    page.keyboard.press("Control+k")
    page.keyboard.type("action columns")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Columns")).to_be_visible()


def test_answers_comparisons_and_runs_are_added_to_a_report_that_is_saved_as_one_file(
    open_page: Opener, dashboard: Dashboard, tmp_path: Path
) -> None:
    page = open_page("/compare?runs=5,6,7")
    curves = page.get_by_role("region", name=re.compile("^Training loss by"))
    curves.get_by_role("button", name=re.compile("Download")).click()
    page.get_by_role("menuitem", name="Add to a report…").click()
    report = page.get_by_label("Report", exact=True)
    expect(report).to_contain_text("What the batch changes")  # the newest report is chosen, once it is known
    report.select_option("a new report")
    page.get_by_role("textbox", name="Title of the new report").fill("Rates")
    page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
    page.get_by_role("button", name="Close").click()
    for path in (f"/experiments/{dashboard.ids['grid']}", f"/runs/{dashboard.ids['growing']}"):
        page.goto(dashboard.url + path)
        page.get_by_role("button", name="Add to report").click()
        expect(report.locator("option:checked")).to_have_text("Rates")
        page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_role("link", name="Open the report")).to_be_visible()
        page.get_by_role("button", name="Close").click() if "experiments" in path else None
    page.get_by_role("link", name="Open the report").click()
    expect(page.get_by_role("heading", name="Rates")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("^Training loss by"))).to_be_visible()
    expect(page.get_by_role("region", name=f"Run {dashboard.ids['growing']}", exact=True)).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="Save as HTML").click()
    download.value.save_as(tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text()
    assert text.count("<img ") >= 3
    assert "data:image/svg+xml;base64," in text
    assert "data:image/png;base64," in text
    assert "<script" not in text
