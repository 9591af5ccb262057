"""Make an experiment in the dashboard: from a recipe to a submitted experiment, with errors and batch scripts."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, StorageState, expect

from bigbatch.client import Client
from tests.testing.dashboard import Dashboard

Opener = Callable[..., Page]


@pytest.fixture
def page(chromium: Browser, signed_in: StorageState) -> Iterator[Page]:
    """Open a page whose console may report refused requests."""
    with chromium.new_context(storage_state=signed_in) as context:
        yield context.new_page()


def editor(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Spec")


def test_a_recipe_is_changed_in_the_form_and_in_the_text_and_submitted(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.url}/")
    page.get_by_role("link", name="New experiment").click()
    page.get_by_role("link", name="first-run").click()
    expect(page.get_by_text("Valid: 1 run")).to_be_visible()
    page.get_by_role("textbox", name="name", exact=True).fill("written in the browser")
    expect(editor(page)).to_contain_text("name: written in the browser")
    page.get_by_role("combobox", name="Kind of base.optimizer").select_option("sgd")
    expect(editor(page)).to_contain_text("kind: sgd")
    editor(page).press("Control+End")
    page.keyboard.insert_text("axes: {seed: [1, 2, 3]}")
    expect(page.get_by_text("Valid: 3 runs")).to_be_visible()
    page.reload()
    expect(editor(page)).to_contain_text("seed: [1, 2, 3]")
    expect(page.get_by_text("Valid: 3 runs")).to_be_visible()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="written in the browser")).to_be_visible()
    with Client(dashboard.url, dashboard.token) as client:
        found = client.experiment(int(page.url.rpartition("/")[2]))
        assert (found.name, found.spec.base.optimizer.kind, found.runs) == ("written in the browser", "sgd", 3)


def test_an_error_leads_from_the_list_to_its_place_in_the_text(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.url}/new?recipe=first-run")
    page.get_by_role("textbox", name="batch", exact=True).fill("0")
    errors = page.get_by_role("alert", name="Errors")
    expect(errors).to_contain_text("base.batch")
    expect(page.get_by_role("button", name="Submit")).to_be_disabled()
    errors.get_by_role("button", name="base.batch").click()
    expect(editor(page)).to_be_focused()
    selected = editor(page).evaluate("box => box.getRootNode().getSelection().toString()")
    assert selected == "batch"


def test_the_batch_scripts_of_a_draft_are_shown(page: Page, dashboard: Dashboard) -> None:
    page.goto(f"{dashboard.url}/new?recipe=first-run")
    page.get_by_role("button", name="Show the batch scripts").click()
    expect(page.get_by_text("# --- batch script of run 0").first).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("path", ["/new", "/new?recipe=optimizers"])
def test_no_page_is_wider_than_the_window(open_page: Opener, path: str, width: int, theme: str) -> None:
    page = open_page(path, width=width, theme=theme)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    if "?" in path:
        expect(page.get_by_text("Valid: 15 runs")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
