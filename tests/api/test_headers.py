"""Tests of the security headers, which every response has."""

import re
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from api.app import create_app
from contract.settings import Settings
from tests.testing.api import WITH_TOKEN

PAGE = Path(__file__).parents[2] / "web" / "index.html"


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("path", ["/", "/sign-in", "/api/v1/runs", "/api/v1/runs/99", "/api/v1/health", "/metrics"])
@pytest.mark.parametrize("headers", [{}, WITH_TOKEN], ids=["without a token", "with the token"])
def test_every_response_has_them(settings: Settings, path: str, headers: dict[str, str]) -> None:
    answer = TestClient(create_app(settings), follow_redirects=False).get(path, headers=headers)
    check(answer.headers)
    if path.startswith("/api/") or path in ("/metrics", "/sign-in"):
        # a browser may store an answer with an ETag for its user alone, and asks again before each use
        assert answer.headers["cache-control"] == ("private, no-cache" if "etag" in answer.headers else "no-store")


def test_an_internal_error_has_them_too(settings: Settings) -> None:
    """Forces the fault: an endpoint raises an exception that no handler expects."""
    app: FastAPI = create_app(settings)

    @app.get("/api/v1/broken")
    def broken() -> None:
        raise RuntimeError

    app.router.routes.insert(0, app.router.routes.pop())  # before the dashboard's route, which takes every path
    answer = TestClient(app, raise_server_exceptions=False).get("/api/v1/broken", headers=WITH_TOKEN)
    assert answer.status_code == 500
    check(answer.headers)
    assert answer.headers["cache-control"] == "no-store"


def check(headers: object) -> None:
    found = dict(headers)  # type: ignore[call-overload]
    assert found["x-content-type-options"] == "nosniff"
    assert found["referrer-policy"] == "same-origin"
    policy = found["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.ring("all")
def test_no_page_of_the_api_loads_a_script_of_another_host(client: TestClient) -> None:
    assert client.get("/api/docs").status_code == 404
    assert client.get("/api/openapi.json").status_code == 200


def test_the_dashboards_page_has_no_inline_script_or_style() -> None:
    text = PAGE.read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
    assert "<style" not in text
    assert "style=" not in text
