"""A spike of one point in a hundred thousand is in the picture, at every zoom, in a real browser."""

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import update

from contract.spec.expanded import expand
from store.lifecycle import creation
from store.metrics.chunks import write_points
from store.metrics.packing import Points
from store.metrics.series import ids_of
from store.session import transaction
from store.tables.runs import Run
from tests.testing.answers import experiment
from tests.testing.dashboard import Dashboard
from tests.testing.servers import wait_for

POINTS, SPIKE_AT, SPIKE = 100_000, 77_777, 50.0
# the places, as shares of the plot's width, of colored pixels in its upper half, which only the spike reaches
UPPER = """(chart) => {
  const canvas = chart.querySelector('canvas'), over = canvas.nextElementSibling;
  const box = canvas.getBoundingClientRect(), plot = over.getBoundingClientRect();
  const scale = canvas.width / box.width, left = (plot.left - box.left) * scale, width = plot.width * scale;
  const top = Math.round((plot.top - box.top) * scale), height = Math.round(plot.height * scale / 2);
  const data = canvas.getContext('2d').getImageData(Math.round(left), top, Math.round(width), height);
  const found = new Set();
  for (let at = 0; at < data.data.length; at += 4) {
    const [r, g, b, a] = data.data.slice(at, at + 4);
    if (a > 100 && Math.max(r, g, b) - Math.min(r, g, b) > 40) found.add((at / 4) % data.width);
  }
  return [...found].map((x) => x / data.width);
}"""


@pytest.fixture
def experiment_id(dashboard: Dashboard) -> int:
    """An experiment with one run, whose training loss has one spike."""
    steps = np.arange(1, POINTS + 1)
    values = np.where(steps == SPIKE_AT, SPIKE, 2.0 + np.sin(steps))
    with transaction(dashboard.engine) as db:
        experiment_id, (run_id,) = creation.create(db, expand(experiment()))
        series_id = ids_of(db, [(run_id, "loss")], [run_id])[run_id, "loss"]
        write_points(db, {series_id: Points(steps, values)})
        db.execute(update(Run).where(Run.id == run_id).values(latest={"loss": 2.0}, step=POINTS))
    return experiment_id


def test_a_spike_of_one_point_is_drawn_at_every_zoom(
    open_page: Callable[..., Page], dashboard: Dashboard, experiment_id: int
) -> None:
    page = open_page(f"/experiments/{experiment_id}?tab=curves")
    page.get_by_role("radio", name="Training loss").check(force=True)
    low, high = 0.0, float(POINTS)
    must_show_spike(page, low, high)
    for _ in range(3):
        place = (SPIKE_AT - low) / (high - low)
        start, end = max(0.02, place - 0.08), min(0.98, place + 0.05)
        with page.expect_response(lambda answer: "/curves" in answer.url and "from=" in answer.url) as response:
            drag(page, start, end)
        low, high = shown_range(response.value.url)
        must_show_spike(page, low, high)
    page.get_by_role("button", name="Reset zoom").click()
    expect(page.get_by_role("button", name="Reset zoom")).to_have_count(0)
    must_show_spike(page, 0.0, float(POINTS))


def test_shift_and_a_drag_move_a_zoomed_range_and_its_finer_curves(
    open_page: Callable[..., Page], experiment_id: int
) -> None:
    page = open_page(f"/experiments/{experiment_id}?tab=curves")
    page.get_by_role("radio", name="Training loss").check(force=True)
    must_show_spike(page, 0.0, float(POINTS))
    with page.expect_response(lambda answer: "/curves" in answer.url and "from=" in answer.url) as zoomed:
        drag(page, 0.5, 0.7)
    low, high = shown_range(zoomed.value.url)
    assert high < SPIKE_AT
    page.keyboard.down("Shift")
    drag(page, 0.9, 0.1)
    page.keyboard.up("Shift")
    moved_by, chart = 0.8 * (high - low), page.get_by_role("slider")
    must_show_spike(page, low + moved_by, high + moved_by)
    chart.press("Shift+ArrowLeft")
    moved_by -= 0.25 * (high - low)
    must_show_spike(page, low + moved_by, high + moved_by)
    chart.press("-")
    chart.press("-")
    chart.press("-")
    expect(page.get_by_role("button", name="Reset zoom")).to_have_count(0)


def shown_range(url: str) -> tuple[float, float]:
    """Return the range of a chart from its request, which has a margin of a tenth of the range on either side."""
    asked = parse_qs(urlsplit(url).query)
    first, last = int(asked["from"][0]), int(asked["to"][0])
    margin = (last - first) / 12
    return first + margin, last - margin


def must_show_spike(page: Page, low: float, high: float) -> None:
    place = (SPIKE_AT - low) / (high - low)

    def is_there() -> bool:
        found = page.get_by_role("slider").evaluate(UPPER)
        return bool(found) and max(abs(each - place) for each in found) < 0.03

    wait_for(f"the spike at {place:.2f} of the chart", is_there, 30)


def drag(page: Page, start: float, end: float) -> None:
    box = page.get_by_role("slider").locator("canvas + div").bounding_box()
    assert box
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + start * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], y, steps=5)
    page.mouse.up()
