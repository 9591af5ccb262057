"""Test sign-in and sign-out in a real browser: the content policy blocks every script that it does not allow."""

import getpass

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from bigbatch.client import Client
from tests.testing.dashboard import Dashboard


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


def test_a_page_whose_session_ends_leads_to_the_sign_in_and_back(chromium: Browser, dashboard: Dashboard) -> None:
    """Forces the fault: the cookie is deleted while a page polls."""
    with Client(dashboard.url, dashboard.token) as client, chromium.new_context() as context:
        page = context.new_page()
        page.goto(client.sign_in_url("/clusters"))
        page.get_by_role("heading", name="Clusters").first.wait_for()
        context.clear_cookies()
        banner = page.get_by_role("status").filter(has_text="You are signed out, or the session has ended.")
        banner.get_by_role("button", name="Sign in").click()
        page.get_by_label("Enter the token").fill(dashboard.token)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Clusters").first.wait_for()
        assert page.url == f"{dashboard.url}/clusters"


def test_a_browser_with_a_session_opens_its_link_again(chromium: Browser, dashboard: Dashboard) -> None:
    with Client(dashboard.url, dashboard.token) as client, chromium.new_context() as context:
        link, page = client.sign_in_url("/clusters"), context.new_page()
        for _ in range(2):
            page.goto(link)
            page.wait_for_url(f"{dashboard.url}/clusters")


def test_a_link_on_a_page_of_another_site_needs_no_second_sign_in(chromium: Browser, dashboard: Dashboard) -> None:
    """Forces the fault: a browser sends no `SameSite=Strict` cookie when a page of another site opens the link."""
    link, other = f'<a href="{dashboard.url}/clusters">the clusters</a>', "http://other.example/"
    with Client(dashboard.url, dashboard.token) as client, chromium.new_context() as context:
        page = context.new_page()
        page.route(other, lambda route: route.fulfill(content_type="text/html", body=link))
        page.goto(client.sign_in_url())
        page.wait_for_url(f"{dashboard.url}/")
        page.goto(other)
        page.get_by_role("link").click()
        page.get_by_role("heading", name="Clusters").first.wait_for()
        context.clear_cookies()
        page.goto(other)
        page.get_by_role("link").click()
        expect(page.get_by_label("Enter the token")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_sign_in_page_fits_a_phone_and_has_the_chosen_theme(
    chromium: Browser, dashboard: Dashboard, theme: str
) -> None:
    with chromium.new_context(viewport={"width": 360, "height": 640}, color_scheme="light") as context:
        page = context.new_page()
        page.goto(f"{dashboard.url}/sign-in")
        page.evaluate("theme => localStorage.setItem('theme', theme)", theme)
        page.reload()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == theme
        assert page.evaluate("document.activeElement.name") == "token"


def test_no_page_runs_in_a_frame(chromium: Browser, dashboard: Dashboard) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.set_content(f'<iframe src="{dashboard.url}/sign-in"></iframe>')
        frame = page.frames[-1]
        expect(frame.get_by_label("Enter the token")).to_have_count(0)


def test_changes_carry_the_name_of_who_signed_in(chromium: Browser, dashboard: Dashboard) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(dashboard.url)
        page.get_by_label("Your name").fill("ada")
        page.get_by_label("Enter the token").fill(dashboard.token)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{dashboard.url}/")
        assert page.evaluate("localStorage.getItem('user')") == "ada"
    with Client(dashboard.url, dashboard.token) as client, chromium.new_context() as context:
        page = context.new_page()
        page.goto(client.sign_in_url("/"))
        page.wait_for_url(f"{dashboard.url}/")
        assert page.evaluate("localStorage.getItem('user')") == getpass.getuser()


def test_a_token_in_an_address_leaves_it_and_a_wrong_one_is_called_wrong(
    chromium: Browser, dashboard: Dashboard
) -> None:
    with chromium.new_context() as context:
        page = context.new_page()
        page.goto(f"{dashboard.url}/clusters?token=a-wrong-token&a=b")
        expect(page.get_by_role("alert")).to_contain_text("The token is wrong")
        assert "token=" not in page.url
        page.go_back()
        assert "token=" not in page.url
        page.goto(f"{dashboard.url}/clusters?token={dashboard.token}&a=b")
        page.get_by_role("heading", name="Clusters").first.wait_for()
        assert page.url == f"{dashboard.url}/clusters?a=b"
