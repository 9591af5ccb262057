"""Test with axe-core, in a real browser, that no page has a serious finding of accessibility, light and dark."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.testing.accessibility import in_dark, serious
from tests.testing.dashboard import Dashboard
from tests.testing.dashboard_pages import PAGES

Opener = Callable[..., Page]


@pytest.mark.parametrize("name", PAGES)
def test_no_page_has_a_serious_finding_light_or_dark(open_page: Opener, dashboard: Dashboard, name: str) -> None:
    path, text = PAGES[name]
    page = open_page(path.format(**dashboard.ids))
    expect(page.get_by_text(text).first).to_be_visible()
    assert serious(page) == []
    assert in_dark(page) == []


def test_the_palette_the_views_and_the_keys_have_no_serious_finding(open_page: Opener) -> None:
    page = open_page("/runs")
    expect(page.get_by_text("Run 5").first).to_be_visible()
    page.keyboard.press("Control+k")
    expect(page.get_by_role("option").first).to_be_visible()
    assert serious(page) == []
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("heading", name="Keys")).to_be_visible()
    assert serious(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Views").click()
    expect(page.get_by_role("heading", name="Views")).to_be_visible()
    assert serious(page) == []
    assert in_dark(page) == []


def test_axe_finds_what_is_planted(open_page: Opener) -> None:
    page = open_page("/nowhere")
    expect(page.get_by_text("This page does not exist")).to_be_visible()
    page.evaluate(
        "document.querySelector('#main').insertAdjacentHTML('beforeend', '<img src=\"/mark.svg\"><button></button>')"
    )
    assert {finding.split(":")[0] for finding in serious(page)} == {"image-alt", "button-name"}
