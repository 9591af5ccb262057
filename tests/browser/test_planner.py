"""Test the page of the planner in a real browser with the real service."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

Opener = Callable[..., Page]


def test_the_form_changes_the_plan_and_its_address(open_page: Opener) -> None:
    page = open_page("/")
    page.get_by_role("link", name="Plan", exact=True).click()
    expect(page.get_by_text(re.compile("on 64 ranks"))).to_be_visible()
    expect(page.get_by_role("region", name="Measured and assumed")).to_contain_text("nothing")
    page.get_by_label("Hosts", exact=True).fill("2")
    expect(page.get_by_text(re.compile("on 8 ranks"))).to_be_visible()
    expect(page).to_have_url(re.compile("hosts=2"))
    page.get_by_label("Measured speed of a rank").fill("367")
    expect(page.get_by_text(re.compile("367 samples/s of one rank"))).to_be_visible()
    page.get_by_label("Net", exact=True).select_option("alexnet")
    expect(page).to_have_url(re.compile("net=alexnet"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1440])
def test_the_page_does_not_scroll_sideways(open_page: Opener, width: int, theme: str) -> None:
    page = open_page("/plan", width=width, theme=theme)
    expect(page.get_by_role("region", name="Update rules and collectives")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
