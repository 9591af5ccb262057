"""Test a curve of a run that trains, in a real browser with the whole service."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from bigbatch.client import Client
from tests.testing.dashboard import LATEST_S, NEWEST, TRIES
from tests.testing.service import Service, running

pytestmark = pytest.mark.flow
CHECKS = 20
SPEC = """
name: watched
base:
  optimizer: {kind: sgd}
  schedule: {kind: constant, rate: 0.02}
  batch: 64
  epochs: 2000
  resources: {kind: local, ranks_per_node: 1}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("watched"), {"BIGBATCH_SLURM": "false"}) as started:
        yield started


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    with chromium.new_context() as context:
        yield context.new_page()


def test_the_curve_of_a_training_run_is_at_most_three_seconds_late(service: Service, page: Page) -> None:
    (run_id,) = service.post(SPEC)
    service.wait_until(run_id, step=1)
    with Client(service.url, service.token) as client:
        page.goto(client.sign_in_url(f"/runs/{run_id}"))
    page.wait_for_function(f"() => ({NEWEST})() > 0")
    page.evaluate("window.untouched = true")
    events = Path(service.get(f"/runs/{run_id}")["folder"]) / "events.jsonl"
    first = page.evaluate(NEWEST)

    def is_up_to_date() -> bool:
        time.sleep(0.5)
        must_show = newest_step_before(events, time.time() - LATEST_S)
        return bool(page.evaluate(NEWEST) >= must_show)

    assert any(all(is_up_to_date() for _ in range(CHECKS)) for _ in range(TRIES))
    assert page.evaluate(NEWEST) > first
    assert page.evaluate("window.untouched"), "without a reload"


def newest_step_before(events: Path, moment: float) -> int:
    """Return the last step in the events file at `moment`, in seconds since 1970."""
    lines = events.read_text().splitlines()
    written = [json.loads(line) for line in lines[:-1]]  # the last line may be incomplete
    return max((e["step"] for e in written if e["kind"] == "points" and e["at"] <= moment), default=0)
