"""Tests of sign-in and sign-out: a browser gets a session, never the token."""

import re
import time
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.access.sign_in_page import SCRIPT, STYLE
from api.access.throttle import MAX_FAILURES
from api.app import create_app
from contract.access.signed_value import LIFETIME_S, Purpose, sign
from contract.settings import Settings
from store.tables.service import EndedValue
from tests.testing.api import TOKEN, WITH_TOKEN, target

HTML = {"accept": "text/html"}
Browser = Callable[..., TestClient]


@pytest.fixture
def browser(settings: Settings) -> Browser:
    """Return `browser(url)`, a client with cookies and without the token, of the one service."""
    app = create_app(settings)
    return lambda url="http://localhost": TestClient(app, base_url=url, follow_redirects=False)


def browser_of(settings: Settings) -> TestClient:
    """Return a client of a new process of the API on the same database."""
    return TestClient(create_app(settings), base_url="http://localhost", follow_redirects=False)


def code(*, age_s: float = 0) -> str:
    return sign(TOKEN, Purpose.CODE, now=time.time() - age_s)


def has_access(client: TestClient) -> bool:
    return client.get("/api/v1/runs").status_code == 200


@pytest.mark.parametrize("form", [{"token": TOKEN}, {"code": "fresh"}])
def test_a_sign_in_makes_a_session_that_is_not_the_token(browser: Browser, form: dict[str, str]) -> None:
    client = browser()
    data = {"next": "/runs/1", **({"code": code()} if "code" in form else form)}
    answer = client.post("/sign-in", data=data)
    assert (answer.status_code, target(answer)) == (303, "/runs/1")
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=strict", f"Max-Age={LIFETIME_S[Purpose.SESSION]}"} <= {*cookie.split("; ")}
    assert "Secure" not in cookie
    assert TOKEN not in cookie
    assert has_access(client)


@pytest.mark.parametrize(
    ("url", "headers"),
    [("https://localhost", {}), ("http://big.example", {"origin": "https://big.example"})],
    ids=["by the service's own TLS", "by the TLS of a proxy"],
)
def test_over_https_the_cookie_is_secure(browser: Browser, url: str, headers: dict[str, str]) -> None:
    answer = browser(url).post("/sign-in", data={"token": TOKEN}, headers=headers)
    assert "; Secure" in answer.headers["set-cookie"]


def test_a_code_works_once(browser: Browser) -> None:
    once = code()
    assert browser().post("/sign-in", data={"code": once}).status_code == 303
    again = browser()
    answer = again.post("/sign-in", data={"code": once})
    assert answer.status_code == 401
    assert "used before or has expired" in answer.text
    assert not has_access(again)


def test_a_browser_with_a_session_opens_its_used_link_again(browser: Browser) -> None:
    client, once = browser(), code()
    client.post("/sign-in", data={"code": once})
    answer = client.post("/sign-in", data={"code": once, "next": "//evil.example/runs/1"})
    assert (answer.status_code, target(answer)) == (303, "/evil.example/runs/1")
    assert "set-cookie" not in answer.headers
    client.post("/sign-out")
    assert client.post("/sign-in", data={"code": once}).status_code == 401


def test_a_code_expires(browser: Browser) -> None:
    assert browser().post("/sign-in", data={"code": code(age_s=LIFETIME_S[Purpose.CODE])}).status_code == 401
    assert browser().post("/sign-in", data={"code": code(age_s=LIFETIME_S[Purpose.CODE] - 60)}).status_code == 303


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "x",
        "session.9999999999.00.00",
        "\xe9",
        pytest.param(sign("other " * 9, Purpose.CODE, now=2e9), id="other token"),
    ],
)
def test_a_value_that_this_token_did_not_sign_is_refused(browser: Browser, bad: str) -> None:
    assert browser().post("/sign-in", data={"code": bad}).status_code == 401


def test_a_code_is_no_session_and_a_session_no_code(browser: Browser) -> None:
    client = browser()
    client.post("/sign-in", data={"token": TOKEN})
    ((name, session),) = client.cookies.items()
    assert browser().post("/sign-in", data={"code": session}).status_code == 401
    assert browser().get("/api/v1/runs", headers={"cookie": f"{name}={code()}"}).status_code == 401


def test_a_session_expires(browser: Browser) -> None:
    client = browser()
    client.post("/sign-in", data={"token": TOKEN})
    ((name, _),) = client.cookies.items()
    old = sign(TOKEN, Purpose.SESSION, now=time.time() - LIFETIME_S[Purpose.SESSION])
    assert browser().get("/api/v1/runs", headers={"cookie": f"{name}={old}"}).status_code == 401
    assert browser().get("/api/v1/health", headers={"cookie": f"{name}={old}"}).status_code == 200


def test_sign_out_ends_the_session_also_for_a_copy_of_its_cookie(browser: Browser) -> None:
    client, other = browser(), browser()
    for each in (client, other):
        each.post("/sign-in", data={"token": TOKEN})
    ((name, session),) = client.cookies.items()
    answer = client.post("/sign-out")
    assert (answer.status_code, target(answer)) == (303, "/sign-in")
    assert not client.cookies
    assert browser().get("/api/v1/runs", headers={"cookie": f"{name}={session}"}).status_code == 401
    assert has_access(other)


def test_a_signed_out_session_and_a_used_code_stay_ended_after_a_restart(settings: Settings) -> None:
    before, once = browser_of(settings), code()
    before.post("/sign-in", data={"code": once})
    ((name, session),) = before.cookies.items()
    copied = {"cookie": f"{name}={session}"}
    assert browser_of(settings).get("/api/v1/runs", headers=copied).status_code == 200
    before.post("/sign-out")
    assert browser_of(settings).get("/api/v1/runs", headers=copied).status_code == 401
    answer = browser_of(settings).post("/sign-in", data={"code": once})
    assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)


@pytest.mark.ring("gate")
def test_without_the_database_a_session_sees_no_data_and_no_code_or_sign_out_counts(
    browser: Browser, sqlite_engine: Engine
) -> None:
    """Forces the fault: the table is dropped under the running API."""
    client = browser()
    client.post("/sign-in", data={"token": TOKEN})
    EndedValue.metadata.tables["ended_values"].drop(sqlite_engine)
    assert client.get("/api/v1/runs").status_code == 503
    assert client.get("/metrics").status_code == 503
    assert client.get("/api/v1/runs", headers=WITH_TOKEN).status_code == 200
    assert client.get("/api/v1/health").status_code == 200
    assert client.get("/", headers=HTML).status_code != 401  # the page that tells of the outage
    assert client.post("/sign-out").json()["code"] == "database_unavailable"
    assert client.cookies
    assert browser().post("/sign-in", data={"code": code()}).status_code == 503


def test_another_page_cannot_sign_in_or_out(browser: Browser) -> None:
    client = browser()
    client.post("/sign-in", data={"token": TOKEN})
    for path in ("/sign-in", "/sign-out"):
        answer = client.post(path, data={"token": TOKEN}, headers={"origin": "http://evil.example"})
        assert answer.status_code == 403
    assert has_access(client)


@pytest.mark.parametrize(
    "path", ["//evil.example/x", "/\\\\evil.example/x", "\t//evil.example/x", "https://evil.example"]
)
def test_a_sign_in_never_leads_to_another_host(browser: Browser, path: str) -> None:
    answer = browser().post("/sign-in", data={"token": TOKEN, "next": path})
    location = answer.headers["location"]
    assert re.match(r"\./[^/\\\s]", location)
    assert answer.url.join(location).host == "localhost"


@pytest.mark.parametrize(
    "path", ["/../other/", "/runs/../../other", "/%2e%2E/other", "/.%2e/other?a", "/..", "..\\other"]
)
def test_a_sign_in_never_leads_to_another_service_above_this_one(browser: Browser, path: str) -> None:
    answer = browser().post("/sign-in", data={"token": TOKEN, "next": path})
    assert (answer.status_code, answer.headers["location"]) == (303, "./")


def test_dots_in_a_name_or_a_query_lead_nowhere_else(browser: Browser) -> None:
    path = "/runs/1/files/a..b/...?path=../x#.."
    answer = browser().post("/sign-in", data={"token": TOKEN, "next": path})
    assert answer.headers["location"] == "." + path


def test_wrong_tokens_are_throttled_and_the_right_one_is_not(browser: Browser) -> None:
    client = browser()
    found = [client.post("/sign-in", data={"token": "wrong"}).status_code for _ in range(MAX_FAILURES + 1)]
    assert found == [401] * MAX_FAILURES + [429]
    assert int(client.post("/sign-in", data={"token": "wrong"}).headers["retry-after"]) > 0
    assert client.post("/sign-in", data={"token": TOKEN}).status_code == 303


def test_a_page_without_a_session_is_the_form_and_goes_on_to_the_page(browser: Browser) -> None:
    answer = browser().get('/runs/1?a="><script>', headers=HTML)
    assert answer.status_code == 401
    assert 'action="/sign-in"' in answer.text
    assert 'name="next" type="hidden" value="/runs/1?a=' in answer.text
    assert '"><script>"' not in answer.text.replace("%22%3E%3Cscript%3E", "")
    assert browser().get("/sign-in").status_code == 200


def test_the_answer_to_a_useless_cookie_deletes_it(browser: Browser) -> None:
    client = browser()
    client.post("/sign-in", data={"token": TOKEN})
    ((name, _),) = client.cookies.items()
    answer = browser().get("/api/v1/runs", headers={"cookie": f"{name}=of.an.earlier.token"})
    assert answer.headers["set-cookie"].startswith(f'{name}=""; ')
    assert "Max-Age=0" in answer.headers["set-cookie"]


@pytest.mark.parametrize(("method", "path"), [("GET", "/sign-out"), ("PUT", "/sign-in"), ("DELETE", "/sign-out")])
def test_only_the_forms_own_methods_are_allowed(browser: Browser, method: str, path: str) -> None:
    assert browser().request(method, path).status_code == 405


def test_a_large_form_is_refused(browser: Browser) -> None:
    assert browser().post("/sign-in", data={"token": "x" * 10_000}).status_code == 413


def test_the_policy_of_the_page_allows_its_own_script_and_style(browser: Browser) -> None:
    answer = browser().get("/sign-in")
    for inline in (SCRIPT, STYLE):
        assert inline in answer.text
        digest = b64encode(sha256(inline.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in answer.headers["content-security-policy"]
