"""Tests of the HTTP contract: limits of ids and strings on both databases, methods, and the size of errors."""

from functools import partial
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from api import dashboard
from api.app import create_app
from contract.settings import Settings
from tests.testing.api import SPEC, WITH_TOKEN, post

BEYOND = 2**31  # one more than a PostgreSQL integer holds


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    "path",
    [
        f"experiments/{BEYOND}",
        f"experiments?before={BEYOND}",
        f"experiments/1/runs?after={BEYOND}",
        f"experiments/1/points?after={BEYOND * 10}:1",
        f"runs/{BEYOND}",
        f"runs?before={BEYOND}",
        f"runs/1/points?after={BEYOND}",
        "runs/1/points?name=a%00b",
        "experiments/1/points?name=%00",
        "experiments/1/points?after=1:%D9%A3",
        "experiments/1/points?after=-1:3",
    ],
)
def test_a_value_that_a_database_cannot_store_is_refused(both: TestClient, path: str) -> None:
    assert both.get(f"/api/v1/{path}").status_code == 422


@pytest.mark.parametrize("path", [f"runs/{BEYOND}/stop", f"experiments/{BEYOND}/stop"])
def test_a_stop_of_an_id_that_a_database_cannot_store_is_refused(both: TestClient, path: str) -> None:
    assert both.post(f"/api/v1/{path}").status_code == 422


@pytest.mark.parametrize("path", [f"runs/{BEYOND - 1}", f"experiments/1/points?after={BEYOND - 1}:{BEYOND - 1}"])
def test_the_largest_integer_is_accepted(both: TestClient, path: str) -> None:
    assert both.get(f"/api/v1/{path}").status_code in (200, 404)


def test_a_spec_with_an_infinite_number_is_refused(both: TestClient) -> None:
    """PostgreSQL refuses JSON with Infinity, SQLite stores it; a free-form option may have any number."""
    text = SPEC + "  model: {kind: import, function: 'a:b', options: {scale: 1e999}}\n"
    answer = post(both, text)
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed_document")


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "experiments", "GET, HEAD, POST"),
        ("PUT", "runs", "GET, HEAD"),
        ("GET", "runs/1/stop", "POST"),
        ("HEAD", "runs/1/stop", "POST"),
        ("TRACE", "runs/1", "GET, HEAD, PATCH, DELETE"),
    ],
)
def test_a_method_that_is_not_allowed_is_answered_with_those_that_are(
    client: TestClient, method: str, path: str, allowed: str
) -> None:
    answer = client.request(method, f"/api/v1/{path}")
    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


def test_a_post_to_an_unknown_path_is_not_found(client: TestClient) -> None:
    assert client.post("/api/v1/nothing").status_code == 404


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("path", ["/api/v1/experiments", "/api/v1/health", "/metrics", "/api/openapi.json"])
def test_head_answers_with_the_headers_of_get(client: TestClient, path: str) -> None:
    head, whole = client.head(path), client.get(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-type"] == whole.headers["content-type"]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("status", [200, 404])
@pytest.mark.parametrize("path", ["/", "/runs/7"])
def test_head_of_a_page_answers_as_get_with_a_built_dashboard_and_without(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str, status: int
) -> None:
    if status == 200:
        (tmp_path / "index.html").write_text("<!doctype html><title>Bigbatch</title>")
    monkeypatch.setattr(dashboard, "install", partial(dashboard.install, dist=tmp_path))
    client = TestClient(create_app(settings), base_url="http://localhost", headers=WITH_TOKEN)
    head, whole = client.head(path), client.get(path)
    assert (head.status_code, whole.status_code, head.content) == (status, status, b"")
    assert {name: head.headers.get(name) for name in whole.headers} == dict(whole.headers)


@pytest.mark.ring("all")
def test_the_price_of_a_slow_network_is_a_number(client: TestClient) -> None:
    """A rate near 0 gave an infinite time, which JSON shows as null."""
    slowest = {"bytes": 1e15, "rate": 1, "inside_rate": 1, "add_rate": 1, "hosts": 64, "ranks_per_host": 64}
    prices = client.get("/api/v1/collectives/price", params=slowest).json()["prices"]
    assert all(isinstance(view["seconds"], float) for view in prices)
    assert client.get("/api/v1/collectives/price", params={"bytes": 1, "rate": 1e-300}).status_code == 422


@pytest.mark.ring("all")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SPEC + "".join(f"  unknown_{n}: 1\n" for n in range(40_000)), id="many errors"),
        pytest.param(SPEC + f"  {'x' * 900_000}: 1\n", id="a long name"),
        pytest.param(SPEC + f"  model: {{kind: {'x' * 900_000}}}\n", id="a long value"),
        pytest.param(SPEC + f"  {'x' * 900_000}: 1\n  {'x' * 3}: {{\n", id="not YAML"),
    ],
)
def test_an_error_never_repeats_a_large_input(client: TestClient, text: str) -> None:
    answer = post(client, text)
    assert answer.status_code in (400, 422)
    assert len(answer.content) < 100_000
    assert len(answer.json()["errors"]) <= 100


def test_an_error_of_a_query_never_repeats_a_large_input(client: TestClient) -> None:
    answer = client.get("/api/v1/runs", params={"state": "x" * 30_000, "before": "y" * 30_000})
    assert answer.status_code == 422
    assert len(answer.content) < 10_000
