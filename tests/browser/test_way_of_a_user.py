"""The way of a user in a real browser with the whole service: from the form to a growing curve, a stop and a diff."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from bigbatch.client import Client
from tests.testing.dashboard import NEWEST
from tests.testing.service import Service, running

CURVE = re.compile("^Loss")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running(tmp_path_factory.mktemp("whole"), {"BIGBATCH_SLURM": "false"}) as started:
        yield started


@pytest.fixture
def page(chromium: Browser, service: Service) -> Iterator[Page]:
    with chromium.new_context() as context, Client(service.url, service.token) as client:
        page = context.new_page()
        page.goto(client.sign_in_url())
        page.wait_for_url(f"{service.url}/")
        yield page


def newest_step(page: Page) -> int:
    return int(page.evaluate(NEWEST))


@pytest.mark.ring("gate")
def test_from_the_form_to_the_curve_to_a_stop_a_clone_and_their_difference(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/new")
    page.get_by_role("link", name="first-run").click()
    expect(page.get_by_text("Valid: 1 run")).to_be_visible()
    page.get_by_role("textbox", name="name", exact=True).fill("from the form")
    page.get_by_role("textbox", name="epochs", exact=True).fill("5000")
    expect(page.get_by_text("Valid: 1 run")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="from the form")).to_be_visible()
    page.get_by_role("link", name=re.compile(r"^Run \d+$")).first.click()
    run = int(page.url.rpartition("/")[2].partition("?")[0])

    expect(page.get_by_role("slider", name=CURVE).first).to_be_visible(timeout=120_000)
    first = newest_step(page)
    page.wait_for_function(f"() => ({NEWEST})() > {first}", timeout=60_000)  # live, without a reload
    page.get_by_role("button", name=f"Stop run {run}").click()
    page.get_by_role("dialog").get_by_role("button", name=re.compile("^Stop")).click()
    expect(page.get_by_role("region", name="Status")).to_contain_text("ancelled", timeout=60_000)

    spec = service.get(f"/runs/{run}")["spec"]
    changed = {**spec, "epochs": 4, "batch": 2 * spec["batch"]}
    (second,) = service.post(json.dumps({"name": "another batch", "base": changed}))
    panel = page.get_by_role("region", name="Compare with another run")
    panel.get_by_label("Run").fill(str(second))
    panel.get_by_label("Run").press("Enter")
    differences = panel.get_by_role("table", name="Differences of the specs")
    expect(differences).to_contain_text("batch")
    expect(differences).to_contain_text("epochs")
    assert service.wait_for_end(second)["state"] == "done"
