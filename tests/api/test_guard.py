"""Tests of the access control: who has access, and what a request without access gets."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.access.throttle import MAX_ADDRESSES, MAX_FAILURES, WINDOW_S, Throttle
from api.app import create_app
from contract.settings import Settings
from store.tables.base import Table
from tests.testing.api import SPEC, TOKEN, WITH_TOKEN, post

PATHS = ["/", "/api/v1/experiments", "/api/v1/clusters", "/api/openapi.json", "/metrics", "/assets/x.js"]
OPEN_PATHS = ["/api/v1/health", "/api/v1/ready"]


@pytest.fixture
def stranger(settings: Settings) -> TestClient:
    """A client without the token; its address is not the one that an exhausted count of another test belongs to."""
    return TestClient(create_app(settings), base_url="http://localhost", follow_redirects=False)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("path", PATHS)
def test_every_request_needs_the_token(stranger: TestClient, path: str) -> None:
    assert stranger.get(path).status_code == 401
    assert stranger.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
    assert stranger.get(path, headers=WITH_TOKEN).status_code != 401


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8000", "[::1]", "big.example", "["])
def test_the_host_header_gives_no_access_and_takes_none(stranger: TestClient, host: str) -> None:
    """A proxy such as nginx sends its own upstream's name as the Host by default, so an outsider seems local."""
    assert stranger.get("/api/v1/experiments", headers={"host": host}).status_code == 401
    assert post(stranger, SPEC).status_code == 401
    assert stranger.get("/api/v1/experiments", headers={"host": host, **WITH_TOKEN}).status_code == 200


@pytest.mark.parametrize("path", OPEN_PATHS)
def test_health_and_readiness_need_no_token_but_no_wrong_one(stranger: TestClient, path: str) -> None:
    assert stranger.get(path).status_code in (200, 503)
    assert stranger.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401


def test_readiness_names_the_problem_of_the_database_only_to_those_with_access(
    stranger: TestClient, sqlite_engine: Engine
) -> None:
    """Forces the fault: the tables are dropped under the running API."""
    Table.metadata.drop_all(sqlite_engine)
    assert stranger.get("/api/v1/ready").json()["database"] == "does not work"
    assert "no such table" in stranger.get("/api/v1/ready", headers=WITH_TOKEN).json()["database"]


@pytest.mark.ring("all")
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_is_case_insensitive(stranger: TestClient, scheme: str) -> None:
    assert stranger.get("/api/v1/runs", headers={"authorization": f"{scheme} {TOKEN}"}).status_code == 200


@pytest.mark.parametrize("value", [TOKEN, f"Basic {TOKEN}", f"Bearer{TOKEN}", "Bearer", "Bearer ", "Bearer \xe9"])
def test_anything_else_is_no_token(stranger: TestClient, value: str) -> None:
    headers = {"authorization": value.encode("latin-1")}
    assert stranger.get("/api/v1/runs", headers=headers).status_code == 401  # type: ignore[arg-type]


def test_the_token_in_an_address_gives_no_access(stranger: TestClient) -> None:
    """An address is stored in logs and in the browser's history."""
    answer = stranger.get("/runs/1", params={"token": TOKEN}, headers={"accept": "text/html"})
    assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)


def test_a_refusal_has_the_one_shape_and_says_how(stranger: TestClient) -> None:
    answer = stranger.get("/api/v1/runs")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert answer.json()["code"] == "unauthorized"


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:9999", "null", "http://["])
def test_a_foreign_page_changes_nothing(client: TestClient, origin: str) -> None:
    post(client, SPEC)
    assert client.post("/api/v1/runs/1/stop", headers={"origin": origin}).status_code == 403
    assert client.post("/api/v1/runs/1/stop", headers={"origin": "http://localhost"}).status_code == 200


def test_many_wrong_tokens_are_throttled_and_the_right_one_is_not(stranger: TestClient) -> None:
    wrong = {"authorization": "Bearer wrong"}
    found = [stranger.get("/api/v1/runs", headers=wrong).status_code for _ in range(MAX_FAILURES + 1)]
    assert found == [401] * MAX_FAILURES + [429]
    throttled = stranger.get("/api/v1/runs", headers=wrong)
    assert throttled.json()["code"] == "too_many_attempts"
    assert 0 < int(throttled.headers["retry-after"]) <= WINDOW_S
    assert stranger.get("/api/v1/runs", headers=WITH_TOKEN).status_code == 200
    assert stranger.get("/api/v1/runs").status_code == 401  # no token is no attempt


def test_failures_count_per_address_and_window() -> None:
    throttle = Throttle()
    waits = [throttle.record_failure("a", now=5.0) for _ in range(MAX_FAILURES + 1)]
    assert waits == [0] * MAX_FAILURES + [WINDOW_S]
    assert throttle.record_failure("b", now=5.0) == 0
    assert throttle.record_failure("a", now=5.0 + WINDOW_S - 0.5) == 1
    assert throttle.record_failure("a", now=5.0 + WINDOW_S) == 0


def test_the_count_has_a_bounded_size() -> None:
    throttle = Throttle()
    for number in range(MAX_ADDRESSES + 10):
        throttle.record_failure(str(number), now=0.0)
    assert len(throttle._windows) == MAX_ADDRESSES


def test_an_application_without_a_token_does_not_start(settings: Settings) -> None:
    with pytest.raises(ValueError, match="needs a token"):
        create_app(settings.model_copy(update={"token": ""}))


def serve(home: Path, *words: str, token: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "BIGBATCH_HOME": str(home), "BIGBATCH_TOKEN": token, "XDG_STATE_HOME": str(home)}
    command = [sys.executable, "-m", "api", "--port", "0", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=150)


@pytest.mark.ring("all")
def test_it_does_not_bind_beyond_loopback_without_a_token(tmp_path: Path) -> None:
    done = serve(tmp_path, "--host", "0.0.0.0", token="")
    assert done.returncode != 0
    assert "BIGBATCH_TOKEN" in done.stderr


@pytest.mark.ring("all")
def test_a_short_token_is_refused_at_the_start_without_showing_it(tmp_path: Path) -> None:
    done = serve(tmp_path, token="hunter2")
    assert done.returncode != 0
    assert done.stderr.startswith("BIGBATCH_TOKEN: the token has 7 characters, fewer than 32: make one with")
    assert "hunter2" not in done.stderr


@pytest.mark.ring("all")
def test_a_token_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o644)
    done = serve(tmp_path, token="")
    assert done.returncode != 0
    assert done.stderr.startswith("other users may have read the token file")
