"""Tests of ETags: an answer that has not changed is 304, and a change is seen at once."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.folder.events import Points
from store.metrics import points
from store.session import transaction
from tests.testing.api import SPEC, post

POLLED = ("experiments", "experiments/1", "experiments/1/runs", "experiments/1/points", "runs/1", "runs/1/points")


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("path", [*POLLED, "clusters"])
def test_an_unchanged_answer_is_304_without_a_body(client: TestClient, path: str) -> None:
    post(client, SPEC)
    first = client.get(f"/api/v1/{path}")
    assert first.status_code == 200
    etag = first.headers["etag"]
    assert etag.startswith('W/"')
    again = client.get(f"/api/v1/{path}", headers={"if-none-match": f'"other", {etag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", etag)


def test_a_new_point_changes_the_etag(client: TestClient, sqlite_engine: Engine) -> None:
    post(client, SPEC)
    etag = client.get("/api/v1/runs/1/points").headers["etag"]
    with transaction(sqlite_engine) as db:
        points.put(db, 1, [Points(attempt=1, at=0, step=1, values={"loss": 1.0})])
    fresh = client.get("/api/v1/runs/1/points", headers={"if-none-match": etag})
    assert fresh.status_code == 200
    assert fresh.json()["series"] == {"loss": {"steps": [1], "values": [1.0]}}


def test_an_error_has_no_etag(client: TestClient) -> None:
    assert "etag" not in client.get("/api/v1/runs/9").headers


def test_head_has_the_etag_of_get(client: TestClient) -> None:
    assert client.head("/api/v1/runs").headers["etag"] == client.get("/api/v1/runs").headers["etag"]
