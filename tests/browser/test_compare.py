"""Test in a real browser with the real service the page that compares runs."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.testing.dashboard import Dashboard

Opener = Callable[..., Page]


def test_runs_selected_in_the_table_are_compared_and_the_address_holds_the_view(
    open_page: Opener, dashboard: Dashboard
) -> None:
    page = open_page(f"/experiments/{dashboard.ids['grid']}")
    table = page.get_by_role("region", name="Table of runs")
    for run in ("Run 5", "Run 6", "Run 7"):
        row = table.get_by_role("row").filter(has=page.get_by_role("link", name=run, exact=True))
        row.get_by_role("checkbox").check()
    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_role("heading", name="Compare", exact=True)).to_be_visible()
    expect(page.get_by_text("3 runs of 1 experiment")).to_be_visible()
    differences = page.get_by_role("region", name="Differences", exact=True)
    expect(differences).to_contain_text("batch")
    expect(page.get_by_role("region", name="Best values", exact=True)).to_contain_text("Run 5")

    page.get_by_role("button", name="Add a panel").click()
    page.get_by_role("menuitem", name="Scatter").click()
    scatter = page.get_by_role("region", name=re.compile(" against "))
    scatter.get_by_label("x", exact=True).select_option("steps")
    curves = page.get_by_role("region", name=re.compile("^Training loss by"))
    curves.get_by_label("by", exact=True).select_option("epoch")
    curves.get_by_label("log y").check()
    page.reload()
    expect(page.get_by_role("region", name="Training loss by epoch")).to_be_visible()
    expect(page.get_by_role("region", name=re.compile("against steps"))).to_be_visible()
    expect(page.get_by_role("switch", name="log y").first).to_be_checked()

    curves = page.get_by_role("region", name="Training loss by epoch")
    slider = curves.get_by_role("slider")
    slider.focus()
    slider.press("ArrowLeft")
    expect(curves.get_by_test_id("readout")).to_contain_text(re.compile(r"Run \d+.*: \d.* at epoch "))


def test_a_picture_is_saved_as_svg_and_png_and_its_data_as_csv(
    open_page: Opener, dashboard: Dashboard, tmp_path: Path
) -> None:
    page = open_page("/compare?runs=5,6,7")
    curves = page.get_by_role("region", name=re.compile("^Training loss by"))
    for item, beginning in (
        ("Picture as SVG", b"<svg"),
        ("Picture as PNG", b"\x89PNG"),
        ("Data as CSV", b"run,group,step,loss\n"),
    ):
        curves.get_by_role("button", name="Download").click()
        with page.expect_download() as saved:
            curves.get_by_role("menuitem", name=item).click()
        path = tmp_path / saved.value.suggested_filename
        saved.value.save_as(path)
        content = path.read_bytes()
        assert content.startswith(beginning), item
        assert len(content) > 1000
        if path.suffix == ".svg":
            text = content.decode()
            assert "Training loss by step" in text
            assert "var(" not in text


def test_a_run_is_compared_with_others_and_a_drag_zooms(open_page: Opener, dashboard: Dashboard) -> None:
    page = open_page("/runs/5")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Compare with…").click()
    page.get_by_role("textbox", name="Add runs").fill("6")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("2 runs of 1 experiment")).to_be_visible()
    curves = page.get_by_role("region", name=re.compile("^Training loss by"))
    place = curves.get_by_role("slider").bounding_box()
    assert place is not None
    x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 120, y)
    page.mouse.up()
    expect(curves.get_by_role("button", name="Reset zoom")).to_be_visible()
    page.wait_for_url(re.compile(r"from%3D\d+.*%26to%3D\d+"))
    page.go_back()
    expect(page.get_by_text("1 run of 1 experiment")).to_be_visible()


def test_drags_one_after_the_other_zoom_and_select_no_text(open_page: Opener) -> None:
    """A text of the axis that a drag has selected would be moved by the next drag, and the picture would not zoom."""
    page = open_page("/compare?runs=5,6,7")
    curves = page.get_by_role("region", name=re.compile("^Training loss by"))
    curves.get_by_role("slider").wait_for()
    place = curves.get_by_role("slider").bounding_box()
    assert place is not None
    y = place["y"] + place["height"] / 2
    for start in (0.2, 0.35, 0.3, 0.25):
        x = place["x"] + place["width"] * start
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 400, y, steps=20)
        page.mouse.up()
        expect(curves.get_by_role("button", name="Reset zoom")).to_be_visible()
        assert page.evaluate("getSelection().toString()") == ""
        curves.get_by_role("button", name="Reset zoom").click()


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_with_every_panel_does_not_scroll_sideways(
    open_page: Opener, dashboard: Dashboard, width: int, theme: str
) -> None:
    kinds = "&".join(f"panel=kind%3D{kind}" for kind in ("curves", "scatter", "box", "bars", "parallel"))
    page = open_page(f"/compare?where=id+%3C+14&{kinds}", width=width, theme=theme)
    page.get_by_role("region", name="Parallel coordinates", exact=True).wait_for()
    expect(page.get_by_role("region", name="Differences", exact=True)).to_be_visible()
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide == 0
