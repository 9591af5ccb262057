"""Tests of the access control: loopback without a token, all other hosts with a token."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from api.app import create_app
from api.guard import _sign_in
from contract.settings import Settings
from tests.testing.api import SPEC, post

TOKEN = "a secret of some length"
PATHS = [
    "/",
    "/api/v1/health",
    "/api/v1/ready",
    "/api/v1/experiments",
    "/api/openapi.json",
    "/api/docs",
    "/assets/x.js",
]


@pytest.fixture
def guarded(settings: Settings) -> Iterator[TestClient]:
    with TestClient(create_app(settings.model_copy(update={"token": TOKEN})), base_url="http://big.example") as client:
        yield client


@pytest.mark.parametrize("path", PATHS)
def test_with_a_token_every_request_needs_it(guarded: TestClient, path: str) -> None:
    assert guarded.get(path).status_code == 401
    assert guarded.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
    assert guarded.get(path, headers={"authorization": f"Bearer {TOKEN}"}).status_code != 401


def test_a_refusal_has_the_one_shape_and_says_how(guarded: TestClient) -> None:
    answer = guarded.get("/api/v1/runs")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["error"]["code"] == "unauthorized"


def test_a_browser_signs_in_once_and_the_secret_leaves_the_address(guarded: TestClient) -> None:
    page = guarded.get("/runs/1", headers={"accept": "text/html"})
    assert (page.status_code, "<form>" in page.text) == (401, True)
    signed = guarded.get("/runs/1", params={"token": TOKEN}, follow_redirects=False)
    assert (signed.status_code, signed.headers["location"]) == (303, "/runs/1")
    assert "HttpOnly" in signed.headers["set-cookie"]
    assert "samesite=strict" in signed.headers["set-cookie"].lower()
    assert guarded.get("/api/v1/experiments").status_code == 200


@pytest.mark.parametrize("path", ["//evil.example/x", "/\\\\evil.example/x"])
def test_signing_in_never_leads_to_another_host(path: str) -> None:
    """The path goes in as a server would hand it on: a client's own tidying would hide the fault."""
    assert _sign_in(path, TOKEN).headers["location"] == "/evil.example/x"


@pytest.mark.parametrize("header", [{"host": "["}, {"origin": "http://["}])
def test_a_header_that_is_no_address_is_refused(client: TestClient, header: dict[str, str]) -> None:
    assert client.post("/api/v1/runs/1/stop", headers=header).status_code == 403


def test_without_a_token_a_foreign_name_is_refused(client: TestClient) -> None:
    assert client.get("/api/v1/experiments", headers={"host": "evil.example"}).status_code == 403
    assert client.get("/api/v1/experiments", headers={"host": "[::1]:8000"}).status_code == 200


def test_a_foreign_page_changes_nothing(client: TestClient) -> None:
    post(client, SPEC)
    assert client.post("/api/v1/runs/1/stop", headers={"origin": "http://evil.example"}).status_code == 403
    assert client.post("/api/v1/runs/1/stop", headers={"origin": "http://localhost"}).status_code == 200


def test_it_does_not_bind_beyond_loopback_without_a_token(tmp_path: Path) -> None:
    environment = {**os.environ, "BIGBATCH_HOME": str(tmp_path), "BIGBATCH_TOKEN": ""}
    command = [sys.executable, "-m", "api", "--host", "0.0.0.0", "--port", "0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=150)
    assert done.returncode != 0
    assert "BIGBATCH_TOKEN" in done.stderr
