"""Test sign-in and sign-out in a real browser: the content policy blocks every script that it does not allow."""

import re

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from bigbatch.client import Client
from tests.testing.dashboard import Dashboard

pytestmark = pytest.mark.browser


def names(context: BrowserContext) -> list[str]:
    return [cookie.get("name", "") for cookie in context.cookies()]


def test_a_link_signs_in_once_and_leaves_no_code_in_the_history(chromium: Browser, dashboard: Dashboard) -> None:
    with Client(dashboard.url, dashboard.token) as client:
        link = client.sign_in_url("/collectives")
    with chromium.new_context() as context:
        page, requested = context.new_page(), list[str]()
        page.on("request", lambda request: requested.append(f"{request.method} {request.url}"))
        page.goto(link)
        page.wait_for_url(f"{dashboard.url}/collectives")
        page.get_by_role("heading", name="Collectives").first.wait_for()
        assert "code" not in "".join(requested)
        (cookie,) = context.cookies()
        assert (cookie.get("httpOnly"), cookie.get("sameSite")) == (True, "Strict")
        assert dashboard.token not in str(cookie)
        page.go_back()
        assert "code" not in page.url
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(link)
        expect(page.get_by_role("alert")).to_contain_text("used before or has expired")
        assert names(context) == []


def test_the_token_signs_in_and_the_button_signs_out(chromium: Browser, dashboard: Dashboard) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{dashboard.url}/clusters?a=b")
        page.get_by_label("Enter the token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("alert")).to_contain_text("The token is wrong")
        page.get_by_label("Enter the token").fill(dashboard.token)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{dashboard.url}/clusters?a=b")
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{dashboard.url}/sign-in")
        assert names(context) == []
        page.goto(f"{dashboard.url}/")
        expect(page.get_by_label("Enter the token")).to_be_visible()


def test_a_page_whose_session_ends_asks_to_sign_in(chromium: Browser, dashboard: Dashboard) -> None:
    """Forces the fault: the cookie is deleted while a page polls."""
    with Client(dashboard.url, dashboard.token) as client, chromium.new_context() as context:
        page = context.new_page()
        page.goto(client.sign_in_url())
        page.get_by_role("heading", name=re.compile("Experiments")).first.wait_for()
        context.clear_cookies()
        expect(page.get_by_role("status").filter(has_text="reload the page to sign in")).to_be_visible()


def test_no_page_runs_in_a_frame(chromium: Browser, dashboard: Dashboard) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.set_content(f'<iframe src="{dashboard.url}/sign-in"></iframe>')
        frame = page.frames[-1]
        expect(frame.get_by_label("Enter the token")).to_have_count(0)
