"""Test in a real browser with the real service what may be done with runs after their end."""

import json
import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, StorageState, expect

from bigbatch.client import Client
from store.session import transaction
from store.tables.runs import Run
from tests.testing.dashboard import Dashboard

Opener = Callable[..., Page]


def test_a_failed_run_is_retried(open_page: Opener, dashboard: Dashboard) -> None:
    run_id = dashboard.ids["failed_program"]
    page = open_page(f"/runs/{run_id}")
    expect(page.get_by_role("region", name="Status")).to_contain_text("Rank 2 failed first on gpu-2")
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_text("1 run queued")).to_be_visible()
    expect(page.get_by_role("button", name=f"Stop run {run_id}")).to_be_visible()
    with transaction(dashboard.engine) as db:
        assert db.get_one(Run, run_id).state == "queued"


def test_a_run_is_deleted_after_its_confirmation_was_typed(open_page: Opener, dashboard: Dashboard) -> None:
    run_id = dashboard.ids["stopped_program"]
    page = open_page(f"/runs/{run_id}")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Delete…").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text(re.compile(r"This removes 1 run, 1 file, [\d.]+ kB"))
    button = dialog.get_by_role("button", name=f"Delete run {run_id}")
    expect(button).to_be_disabled()
    label = dialog.get_by_label(re.compile("^Type .* to confirm$"))
    text = re.findall(r"Type (\S+) to confirm", dialog.inner_text())[0]
    label.fill(text)
    button.click()
    page.wait_for_url(f"**/experiments/{dashboard.ids['programs']}")
    expect(page.get_by_role("link", name=f"Run {dashboard.ids['done_program']}")).to_be_visible()
    expect(page.get_by_role("link", name=f"Run {run_id}", exact=True)).to_have_count(0)


@pytest.fixture
def page(chromium: Browser, signed_in: StorageState) -> Iterator[Page]:
    """Open a page whose console may report refused requests."""
    with chromium.new_context(storage_state=signed_in) as context:
        yield context.new_page()


def write(page: Page, text: str) -> None:
    """Replace the text of the editor by one line: JSON is YAML too."""
    editor = page.get_by_role("textbox", name="Spec")
    editor.press("Control+a")
    page.keyboard.insert_text(text)


def test_a_clone_with_a_wrong_field_names_it_and_a_right_one_is_submitted(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.url}/experiments/{dashboard.ids['open_end']}")
    page.get_by_role("button", name="More").click()
    page.get_by_role("menuitem", name="Clone with changes…").click()
    expect(page.get_by_role("textbox", name="Spec")).to_contain_text("until the loss is flat")
    with Client(dashboard.url, dashboard.token) as client:
        spec = client.experiment(dashboard.ids["open_end"]).spec.model_dump(mode="json")
    # the service refuses folders that it sees to be absent
    text = json.dumps({**spec, "name": "a clone"}).replace("/home/ada/vision", str(dashboard.runs))
    text = text.replace('"/home/ada/venvs/torch"', "null")
    write(page, text.replace("--lr {lr}", "--lr {rate}"))
    errors = page.get_by_role("alert", name="Errors")
    expect(errors).to_contain_text("{rate} is no parameter")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    write(page, text)
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="a clone", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name=f"experiment {dashboard.ids['open_end']}")).to_be_visible()
    with Client(dashboard.url, dashboard.token) as client:
        assert client.experiment(int(page.url.rpartition("/")[2])).name == "a clone"


def test_the_list_is_searched_by_tag_and_text(open_page: Opener, dashboard: Dashboard) -> None:
    page = open_page("/?tag=own-script")
    expect(page.get_by_role("link", name="rates of our own script")).to_be_visible()
    expect(page.get_by_role("link", name="torus on four nodes")).to_have_count(0)
    page.get_by_role("searchbox").fill("flat")
    page.wait_for_url("**/?q=flat&tag=own-script")
    expect(page.get_by_role("link", name="until the loss is flat")).to_be_visible()
    expect(page.get_by_role("link", name="rates of our own script")).to_have_count(0)


@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_page_of_programs_scrolls_sideways(open_page: Opener, dashboard: Dashboard, width: int, theme: str) -> None:
    ids = dashboard.ids
    for path in ["/", f"/experiments/{ids['programs']}", f"/runs/{ids['program']}", f"/runs/{ids['open_end_run']}"]:
        page = open_page(path, width=width, theme=theme)
        page.locator("h1").wait_for()
        page.wait_for_timeout(500)
        wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0, path
