"""The page of the clusters and the log of a run in a real browser."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.testing.accessibility import serious
from tests.testing.dashboard import Dashboard

Opener = Callable[..., Page]
OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.mark.parametrize("width", [390, 1440])
def test_the_clusters_page_explains_its_queue_and_its_nodes(
    open_page: Opener, dashboard: Dashboard, width: int
) -> None:
    page = open_page("/clusters", width=width)
    slurm = page.get_by_role("region", name="Slurm", exact=True)
    queue = slurm.get_by_role("region", name="Queue")
    expect(queue.get_by_text("3rd of 3 pending jobs in cpu")).to_be_attached()
    expect(queue.get_by_text("jobs of a higher priority come first (Priority)").first).to_be_attached()
    run = f"run {dashboard.ids['growing']}"
    node = slurm.get_by_role("region", name="Nodes").get_by_role("row", name=re.compile("^cpu-4"))
    expect(node.get_by_role("link", name=run)).to_have_attribute("href", f"/runs/{dashboard.ids['growing']}")
    expect(node.get_by_text("1 of others")).to_be_attached()
    failures = slurm.get_by_role("region", name="Node failures").get_by_role("row", name=re.compile("^cpu-3"))
    expect(failures.get_by_role("link", name=run)).to_be_attached()
    expect(slurm.get_by_title("cpu-3: allocated, 32 of 32 cores busy; 3 node failures in 30 days")).to_be_visible()
    assert page.evaluate(OVERFLOW) == 0
    assert serious(page) == []


def test_the_log_of_a_run_is_searched(open_page: Opener, dashboard: Dashboard) -> None:
    page = open_page(f"/runs/{dashboard.ids['growing']}")
    log = page.get_by_role("region", name="Log", exact=True)
    lines = log.locator("pre")
    expect(lines).to_contain_text("step   400")
    log.get_by_role("searchbox", name="Search the log").fill("STEP   123")
    expect(lines).to_have_text(re.compile(r"^\[rank 0\] epoch +\d+ +step +123 +loss [\d.]+\n?$"))
    log.get_by_role("searchbox").fill("")
    log.get_by_role("combobox", name="Rank").select_option("5")
    expect(lines).to_have_text("No line matches.")
    log.get_by_role("combobox", name="Rank").select_option("0")
    expect(lines).to_contain_text("step   400")
    expect(page.get_by_role("region", name="Stored checkpoints", exact=True)).to_contain_text("not complete")
    assert serious(page) == []
