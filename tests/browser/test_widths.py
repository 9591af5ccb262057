"""Test in a real browser that every page fits its window, from a phone to a wide screen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.testing.dashboard import Dashboard
from tests.testing.dashboard_pages import PAGES

Opener = Callable[..., Page]
TOO_WIDE = """() => document.documentElement.scrollWidth - document.documentElement.clientWidth"""
CLIPPED = """() => [...document.querySelectorAll('thead th')]
    .filter(head => head.offsetParent && [head, ...head.querySelectorAll('button')]
        .some(part => part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).display !== 'inline'))
    .map(head => head.textContent)"""

# of a label, the only one of its row, with each of some texts beside a description of each of some lengths
HEIGHTS = """(label, texts) => {
    const all = label.closest('ul')
    all.replaceChildren(label.closest('li'))
    all.before(document.querySelector('p[title^="Does the best rate"]').cloneNode())
    return texts.flatMap(text => [20, 40, 60, 80].map(words => {
        label.textContent = text
        all.previousElementSibling.textContent = 'word '.repeat(words)
        return label.getBoundingClientRect().height
    }))
}"""


@pytest.mark.parametrize("width", [390, 2560])
@pytest.mark.parametrize("name", PAGES)
def test_no_page_scrolls_sideways(open_page: Opener, dashboard: Dashboard, name: str, width: int) -> None:
    path, text = PAGES[name]
    page = open_page(path.format(**dashboard.ids), width=width)
    expect(page.get_by_text(text).first).to_be_attached()  # a narrow table hides some of its columns
    page.wait_for_timeout(300)
    assert page.evaluate(TOO_WIDE) == 0


@pytest.mark.parametrize("width", [1440, 2560])
@pytest.mark.parametrize("name", ["experiment", "runs", "groups", "compare", "clusters"])
def test_no_heading_of_a_table_is_clipped(open_page: Opener, dashboard: Dashboard, name: str, width: int) -> None:
    path, text = PAGES[name]
    page = open_page(path.format(**dashboard.ids), width=width)
    expect(page.get_by_text(text).first).to_be_attached()
    expect(page.get_by_role("columnheader").first).to_be_visible()
    assert page.evaluate(CLIPPED) == []


def test_the_list_uses_the_width_of_the_window_and_its_rows_are_low(open_page: Opener, dashboard: Dashboard) -> None:
    for width, least in ((1440, 1340), (2560, 2180)):
        page = open_page("/", width=width)
        rows = page.get_by_role("listitem").filter(has=page.get_by_role("progressbar"))
        expect(rows.first).to_be_visible()
        heights = sorted(rows.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().height)"))
        # a row with a description or many tags has more lines; other tests of this browser give some rows such labels
        assert (heights[len(heights) // 2] <= 60, heights[-1] <= 120) == (True, True), heights
        assert page.evaluate("document.querySelector('main > *').getBoundingClientRect().width") >= least


def test_a_short_label_beside_a_long_description_stays_in_one_line(open_page: Opener, dashboard: Dashboard) -> None:
    """The owner of an experiment broke within the word, because its label gave way by a part of a pixel."""
    page = open_page("/", width=1280)
    row = page.get_by_role("listitem").filter(has=page.locator(f"a[href='/experiments/{dashboard.ids['programs']}']"))
    label = row.get_by_role("link", name="ada", exact=True)
    expect(label).to_be_visible()
    assert max(label.evaluate(HEIGHTS, ["ada", "bob", "root", "grace", "mikami", "iandola"])) < 30


@pytest.mark.parametrize("width", [390, 1440])
def test_the_name_of_a_metric_of_200_characters_does_not_make_a_page_wider(
    open_page: Opener, dashboard: Dashboard, width: int
) -> None:
    ids = dashboard.ids
    for path in (f"/runs/{ids['long_named']}", f"/experiments/{ids['long_names']}?tab=curves"):
        page = open_page(path, width=width)
        expect(page.locator("h1")).to_be_visible()
        expect(page.get_by_text("name_of_a_metric").first).to_be_attached()
        assert page.evaluate(TOO_WIDE) == 0
