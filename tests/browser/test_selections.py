"""Test in a real browser with the real service what is done with the selected runs of the table."""

import csv
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from bigbatch.client import Client
from contract.lifecycle.state import State
from store.session import transaction
from store.tables.runs import Run
from tests.testing.dashboard import Dashboard
from tests.testing.stored_runs import move

Opener = Callable[..., Page]
BATCHES = [64, 128, 256]


@pytest.fixture
def runs(dashboard: Dashboard, request: pytest.FixtureRequest) -> Iterator[list[int]]:
    """Submit an experiment of the name of the test; return its runs, which nothing starts here."""
    base = {
        "data": {"kind": "digits"},
        "model": {"kind": "convnet"},
        "optimizer": {"kind": "sgd"},
        "schedule": {"kind": "constant", "rate": 0.1},
        "epochs": 1,
    }
    spec = {"name": request.node.name, "base": base, "axes": {"batch": BATCHES}}
    with Client(dashboard.url, dashboard.token) as client:
        yield list(client.create(spec).runs)


def filter_by(page: Page, text: str) -> None:
    """Type a query into the field above the table, and let it be carried out."""
    field = page.get_by_role("combobox", name="Query")
    field.press_sequentially(text)
    field.press("Escape")  # closes the list of completions
    field.press("Enter")


def run_links(page: Page) -> Locator:
    return page.get_by_role("table").get_by_role("link", name=re.compile(r"^Run \d+$"))


def choose(page: Page, item: str) -> None:
    page.get_by_role("group", name="Selected runs").get_by_role("button", name="Actions").click()
    page.get_by_role("menuitem", name=item, exact=True).click()


def states(dashboard: Dashboard, runs: list[int]) -> list[str]:
    with Client(dashboard.url, dashboard.token) as client:
        return [str(client.run(run).state) for run in runs]


def stop_selected(page: Page, dashboard: Dashboard, runs: list[int]) -> None:
    """Stop the selected runs in the browser; then end them as the scheduler would, which does not run here."""
    choose(page, "Stop…")
    page.get_by_role("dialog").get_by_role("button", name="Stop 2 runs").click()
    expect(page.get_by_text("2 runs asked to stop")).to_be_visible()
    with transaction(dashboard.engine) as db:
        for run in db.query(Run).where(Run.id.in_(runs)):
            assert run.stop_requested_at is not None
            move(db, run, State.CANCELLED)
    expect(page.get_by_role("table").get_by_text("cancelled", exact=True)).to_have_count(2)


def test_typed_filter_then_stop_retry_and_delete_of_the_selected_runs(
    open_page: Opener, dashboard: Dashboard, runs: list[int], request: pytest.FixtureRequest
) -> None:
    page = open_page("/runs")
    filter_by(page, f'name = "{request.node.name}" and batch > 64')
    expect(run_links(page)).to_have_count(2)
    assert "batch" in page.url  # the address holds the query
    page.get_by_role("checkbox", name="Select all runs of the query").click()
    expect(page.get_by_text("2 runs selected")).to_be_visible()

    stop_selected(page, dashboard, runs[1:])
    choose(page, "Retry failed and stopped")
    expect(page.get_by_text("2 runs asked to go on")).to_be_visible()
    assert states(dashboard, runs) == ["queued"] * 3

    stop_selected(page, dashboard, runs[1:])
    choose(page, "Delete…")
    page.get_by_role("dialog").get_by_role("button", name="Delete 2 runs").click()
    expect(run_links(page)).to_have_count(0)
    page.goto(f"{dashboard.url}/experiments/{experiment_of(dashboard, runs[0])}")
    expect(page.get_by_role("link", name=f"Run {runs[0]}").first).to_be_visible()
    expect(page.get_by_role("link", name=f"Run {runs[1]}", exact=True)).to_have_count(0)


def test_archived_runs_leave_the_table_and_come_back(
    open_page: Opener, runs: list[int], request: pytest.FixtureRequest
) -> None:
    page = open_page("/runs")
    filter_by(page, f'name = "{request.node.name}"')
    expect(run_links(page)).to_have_count(3)
    page.get_by_role("checkbox", name=f"Select run {runs[1]}").check()
    choose(page, "Archive")
    expect(run_links(page)).to_have_count(2)
    expect(page.get_by_role("link", name=f"Run {runs[1]}", exact=True)).to_have_count(0)
    page.get_by_role("switch", name="archive").check()
    expect(run_links(page)).to_have_text([f"Run {runs[1]}"])
    page.get_by_role("checkbox", name=f"Select run {runs[1]}").check()
    choose(page, "Unarchive")
    page.get_by_role("switch", name="archive").uncheck()
    expect(run_links(page)).to_have_count(3)


def test_selected_runs_are_exported_as_csv(
    open_page: Opener, runs: list[int], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    page = open_page("/runs")
    filter_by(page, f'name = "{request.node.name}"')
    page.get_by_role("checkbox", name=f"Select run {runs[0]}").check()
    page.get_by_role("checkbox", name=f"Select run {runs[2]}").check()
    page.get_by_role("group", name="Selected runs").get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Runs as CSV").click()
    download.value.save_as(tmp_path / "runs.csv")
    with (tmp_path / "runs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(row["id"]) for row in rows) == [runs[0], runs[2]]
    assert sorted(int(row["batch"]) for row in rows) == [64, 256]


def experiment_of(dashboard: Dashboard, run: int) -> int:
    with Client(dashboard.url, dashboard.token) as client:
        return client.run(run).experiment_id
