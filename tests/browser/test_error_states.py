"""Test in a real browser what a page shows when the service refuses, fails or does not answer."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect
from sqlalchemy import select, update

from contract.folder.run_folder import RunFolder
from store.session import transaction
from store.tables.base import now
from store.tables.clusters import Cluster
from store.tables.runs import Run
from tests.testing.dashboard import Dashboard

API = re.compile("/api/v1/")


@pytest.fixture
def page(chromium: Browser, signed_in: StorageState) -> Iterator[Page]:
    """Open a page whose console may report failed requests."""
    with chromium.new_context(storage_state=signed_in) as context:
        yield context.new_page()


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/runs/999999", "There is no run 999999"),
        ("/experiments/999999", "There is no experiment 999999"),
        ("/runs/abc", "This page does not exist"),
        ("/collectives?hosts=600&ranks_per_host=8", "600 x 8 = 4,800 ranks, more than the limit of 4,096"),
        ("/plan?hosts=2&ranks_per_host=4&batch=3", "A batch of 3 has no sample for some of the 8 ranks"),
    ],
)
def test_what_does_not_exist_or_is_not_valid_is_a_sentence(
    page: Page, dashboard: Dashboard, path: str, sentence: str
) -> None:
    page.goto(dashboard.url + path)
    expect(page.get_by_text(sentence, exact=True)).to_be_visible()


def test_a_page_shows_an_outage_and_its_end(page: Page, dashboard: Dashboard) -> None:
    """Forces the fault: no request of the page reaches the service."""
    page.goto(f"{dashboard.url}/clusters")
    page.get_by_role("heading", name="Slurm").wait_for()
    page.route(API, lambda route: route.abort())
    banner = page.get_by_role("status").filter(has_text="The service does not answer.")
    expect(banner).to_be_visible()
    expect(page.get_by_role("heading", name="Slurm")).to_be_visible()
    page.get_by_role("link", name="Experiments").first.click()
    expect(page.get_by_text("No data yet")).to_be_visible()
    page.unroute(API)
    page.get_by_role("link", name="torus on four nodes").wait_for()
    expect(banner).to_have_count(0)


def test_a_scheduler_that_does_not_report_has_a_banner(page: Page, dashboard: Dashboard) -> None:
    """Forces the fault: the API runs without a scheduler, so the reports of the clusters get old."""
    page.goto(f"{dashboard.url}/collectives")
    banner = page.get_by_role("status").filter(has_text="The scheduler has not reported recently.")
    page.get_by_role("heading", name="Collectives").first.wait_for()
    expect(banner).to_have_count(0)
    with transaction(dashboard.engine) as db:
        before = db.scalars(select(Cluster.asked_at)).first()
        db.execute(update(Cluster).values(asked_at=now() - timedelta(minutes=5)))
    try:
        page.reload()
        expect(banner).to_contain_text("no run starts or ends")
    finally:
        with transaction(dashboard.engine) as db:
            db.execute(update(Cluster).values(asked_at=before))
    page.reload()
    page.get_by_role("heading", name="Collectives").first.wait_for()
    expect(banner).to_have_count(0)


@pytest.mark.parametrize("name", ["out.log", "times.csv"])
def test_a_file_that_the_service_does_not_open_is_named(page: Page, dashboard: Dashboard, name: str) -> None:
    """Forces the fault: a file of the run is a link to another file."""
    with transaction(dashboard.engine) as db:
        run = db.get_one(Run, dashboard.ids["growing"])
        file = RunFolder.of(dashboard.runs, run.id, run.key).path / name
    aside = file.rename(file.with_suffix(".aside"))
    try:
        file.symlink_to("/etc/hostname")
        page.goto(f"{dashboard.url}/runs/{dashboard.ids['growing']}")
        expect(page.get_by_text(re.compile(rf"cannot be shown: .*{re.escape(name)} cannot be read"))).to_be_visible()
    finally:
        file.unlink()
        aside.rename(file)
