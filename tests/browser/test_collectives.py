"""Plans and prices in a real browser, from the real service."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

Opener = Callable[..., Page]
pytestmark = pytest.mark.browser
KINDS = ("ring", "torus-2", "halving_doubling", "tree", "colors-2", "hierarchical-4", "server-1", "server-8")


@pytest.mark.parametrize("kind", KINDS)
def test_every_collective_plays_until_each_rank_has_the_whole_sum(open_page: Opener, kind: str) -> None:
    page = open_page(f"/collectives?hosts=2&ranks_per_host=4&show={kind}")
    page.locator("svg.plan").wait_for()
    assert page.locator(".plan-rank.whole").count() == 0
    page.keyboard.press("ArrowRight")
    expect(page.locator(".message").first).to_be_attached()
    page.keyboard.press("End")
    expect(page.locator(".plan-rank.whole")).to_have_count(8)
    assert "Every rank has the whole sum" in page.locator(".told").inner_text()


def test_the_reader_goes_from_the_list_to_a_plan_and_changes_the_network(open_page: Opener) -> None:
    page = open_page("/")
    page.get_by_role("link", name="Collectives").click()
    page.locator("svg.plan").wait_for()
    expect(page.locator(".plan-rank")).to_have_count(16)
    page.get_by_label("Hosts", exact=True).fill("3")
    expect(page.locator(".plan-rank")).to_have_count(12)
    expect(page).to_have_url(re.compile("hosts=3"))
    page.get_by_role("button", name="Ring").click()
    expect(page.get_by_role("heading", name="Ring")).to_be_visible()
    page.get_by_label("Ranks per host").fill("512")
    expect(page.get_by_text("Up to 64 ranks are drawn.")).to_be_visible()
    expect(page.get_by_text("on 1,536 ranks")).to_be_visible()
    page.get_by_label("Ranks per host").fill("2")
    expect(page.locator(".plan-rank")).to_have_count(6)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_nothing_is_wider_than_the_page(open_page: Opener, width: int, theme: str) -> None:
    page = open_page("/collectives?hosts=8&ranks_per_host=8", width=width, theme=theme)
    page.locator("svg.plan").wait_for()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
