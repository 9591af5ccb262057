"""A page with 50 curves of 100,000 points: from opening to drawn, and the frames of hovering, zooming and panning."""

from collections.abc import Callable, Sequence

from playwright.sync_api import Page

from benchmarks.pages.browser import Tab, drawn, open_tab
from benchmarks.pages.opening import Row, Stage, load, moving, opened
from benchmarks.pages.seeding import CURVES

Place = tuple[float, float]
PICTURE = drawn(1, name="drawImage")  # noisy lines are drawn together, as one picture


def curves(stage: Stage) -> Row:
    """Return the times of opening the page and the frames of each movement."""
    path = f"/experiments/{stage.seeded.ids('curves')}?tab=curves"
    row: Row = {"curves": CURVES, "opens": opened(stage, path, PICTURE)}
    with open_tab(stage.browser, stage.state) as tab:
        tab.open(f"{stage.url}{path}", PICTURE)
        text = tab.page.locator("[role=slider]").first.get_attribute("aria-valuetext")
        assert text is not None
        assert f"{CURVES} curves" in text, "the picture has all curves"
        across = places_of(tab.page)
        row["frames while the pointer moves"] = moving(tab, across)
        row["frames while zooming"] = zoom_by_drag(tab, across)
        row["frames while panning"] = pan(tab, across)
    return row


def places_of(page: Page) -> list[Place]:
    """Return a hundred places from the left to the right of the first chart."""
    box = page.locator("[role=slider]").first.bounding_box()
    assert box is not None
    return [(box["x"] + box["width"] * (0.1 + 0.008 * k), box["y"] + box["height"] * 0.5) for k in range(100)]


def zoom_by_drag(tab: Tab, across: Sequence[Place]) -> Row:
    """Return the frames of five zooms by drags and their resets, requests for finer buckets included."""

    def zoom() -> None:
        for first in (10, 20, 30, 15, 25):
            drag(tab.page, across[first : first + 50])
            reset = tab.page.get_by_role("button", name="Reset zoom")
            reset.click()
            reset.wait_for(state="hidden")
            tab.page.locator("[role=slider]").first.wait_for()

    return _frames(tab, zoom)


def pan(tab: Tab, across: Sequence[Place]) -> Row:
    """Return the frames while a zoomed range is moved to the right and back with the Shift key, five times."""
    drag(tab.page, across[20:60])
    tab.page.get_by_role("button", name="Reset zoom").wait_for()

    def move() -> None:
        for places in (across[20:80], across[79:19:-1]) * 5:
            drag(tab.page, places)

    tab.page.keyboard.down("Shift")
    try:
        return _frames(tab, move)
    finally:
        tab.page.keyboard.up("Shift")


def drag(page: Page, places: Sequence[Place]) -> None:
    """Drag the pointer over places."""
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places:
        page.mouse.move(*place)
    page.mouse.up()


def _frames(tab: Tab, movement: Callable[[], None]) -> Row:
    with tab.frames() as frames:
        movement()
        return frames()._asdict() | {"load": load()}
