"""Test the header in a real browser: one row at every width, and every link can be reached."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.testing.dashboard import Dashboard

Opener = Callable[..., Page]
ROW_PX = 64  # a second row of links would make the header higher
CUT = """link => {
  const [own, row] = [link.getBoundingClientRect(), link.parentElement.getBoundingClientRect()];
  return Math.max(row.left - own.left, own.right - row.right);
}"""


@pytest.mark.parametrize("width", [360, 390, 740, 1440])
def test_the_header_has_one_row_whose_links_can_be_reached(open_page: Opener, dashboard: Dashboard, width: int) -> None:
    page = open_page("/clusters", width=width)
    page.locator("h1").wait_for()
    header = page.get_by_role("banner")
    box = header.bounding_box()
    assert box is not None
    assert box["height"] < ROW_PX
    links = page.get_by_role("navigation", name="Main").get_by_role("link")
    # the last one is that of the page: it is in view without a hand
    page.wait_for_function(f"link => ({CUT})(link) < 1", arg=links.last.element_handle())
    for link in links.all():
        link.focus()
        page.wait_for_function(f"link => ({CUT})(link) < 1", arg=link.element_handle())
    expect(header.get_by_role("link", name="Bigbatch")).to_be_visible()
    expect(header.get_by_role("button", name="Sign out")).to_be_in_viewport()
