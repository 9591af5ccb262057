"""Test in a real browser that every page fits its window, from a phone to a wide screen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.testing.dashboard import Dashboard
from tests.testing.dashboard_pages import PAGES

Opener = Callable[..., Page]
TOO_WIDE = """() => document.documentElement.scrollWidth - document.documentElement.clientWidth"""


@pytest.mark.parametrize("width", [390, 2560])
@pytest.mark.parametrize("name", PAGES)
def test_no_page_scrolls_sideways(open_page: Opener, dashboard: Dashboard, name: str, width: int) -> None:
    path, text = PAGES[name]
    page = open_page(path.format(**dashboard.ids), width=width)
    expect(page.get_by_text(text).first).to_be_attached()  # a narrow table hides some of its columns
    page.wait_for_timeout(300)
    assert page.evaluate(TOO_WIDE) == 0
