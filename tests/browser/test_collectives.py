"""Test plans and prices in a real browser with the real service."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

Opener = Callable[..., Page]
RANK = re.compile("-rank$")  # complete-rank and partial-rank
KINDS = ("ring", "torus-2", "halving_doubling", "tree", "colors-2", "hierarchical-4", "server-1", "server-8")


@pytest.mark.parametrize("kind", KINDS)
def test_each_collective_ends_with_the_complete_sum_on_each_rank(open_page: Opener, kind: str) -> None:
    page = open_page(f"/collectives?hosts=2&ranks_per_host=4&show={kind}")
    page.get_by_test_id("plan").wait_for()
    assert page.get_by_test_id("complete-rank").count() == 0
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("message").first).to_be_attached()
    page.keyboard.press("End")
    expect(page.get_by_test_id("complete-rank")).to_have_count(8)
    expect(page.get_by_text("Every rank has the complete sum")).to_be_visible()


@pytest.mark.parametrize(
    ("operation", "kind", "at_start", "at_end"),
    [
        ("all_gather", "ring", 0, 8),
        ("all_gather", "halving_doubling", 0, 8),
        ("reduce_scatter", "ring", 0, 8),
        ("reduce_scatter", "halving_doubling", 0, 8),
        ("broadcast", "tree", 1, 8),
        ("reduce", "tree", 0, 1),
    ],
)
def test_each_plan_of_another_operation_ends_with_what_the_operation_promises(
    open_page: Opener, operation: str, kind: str, at_start: int, at_end: int
) -> None:
    page = open_page(f"/collectives?hosts=2&ranks_per_host=4&operation={operation}&show={kind}")
    page.get_by_test_id("plan").wait_for()
    expect(page.get_by_test_id("complete-rank")).to_have_count(at_start)
    page.keyboard.press("End")
    expect(page.get_by_test_id("complete-rank")).to_have_count(at_end)


def test_links_lead_from_the_list_to_a_plan_and_the_form_changes_the_network(open_page: Opener) -> None:
    page = open_page("/")
    page.get_by_role("link", name="Collectives").click()
    page.get_by_test_id("plan").wait_for()
    expect(page.get_by_test_id(RANK)).to_have_count(16)
    page.get_by_label("Hosts", exact=True).fill("3")
    expect(page.get_by_test_id(RANK)).to_have_count(12)
    expect(page).to_have_url(re.compile("hosts=3"))
    page.get_by_role("button", name="Ring").click()
    expect(page.get_by_role("heading", name="Ring")).to_be_visible()
    page.get_by_label("Ranks per host").fill("512")
    expect(page.get_by_text("The diagram shows at most 64 ranks.")).to_be_visible()
    expect(page.get_by_text("on 1,536 ranks")).to_be_visible()
    page.get_by_label("Ranks per host").fill("2")
    expect(page.get_by_test_id(RANK)).to_have_count(6)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 768, 1440])
def test_the_page_does_not_scroll_sideways(open_page: Opener, width: int, theme: str) -> None:
    page = open_page("/collectives?hosts=8&ranks_per_host=8", width=width, theme=theme)
    page.get_by_test_id("plan").wait_for()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
