"""Runs that were carried out elsewhere: stored as done, shown as other runs are, and started by nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select

from contract.lifecycle.state import State
from store import runs
from store.metrics import retention
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.api import post

BEGAN, ENDED = datetime(2020, 5, 1, 8, tzinfo=UTC), datetime(2020, 5, 1, 9, 30, tzinfo=UTC)
ASKED = {"name": "old logs", "source": "TensorBoard: /logs", "tags": ["imported"], "project": "vision"}


def record(client: TestClient, key: str = "", **fields: Any) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    return client.post("/api/v1/recordings", json={**ASKED, **fields}, headers=headers | {"Bigbatch-User": "ada"})


def add(client: TestClient, experiment_id: int, *recorded: dict[str, Any]) -> Any:
    return client.post(f"/api/v1/recordings/{experiment_id}/runs", json={"runs": recorded})


@pytest.fixture
def recorded(both: TestClient) -> TestClient:
    """Experiment 2 with runs 2 and 3."""
    assert record(both).status_code == 201
    moments = {"started_at": BEGAN.isoformat(), "ended_at": ENDED.isoformat()}
    one = {"key": "a", "name": "lars/1", "parameters": {"lr": 0.1, "optimizer": "lars"}, **moments, "notes": "old"}
    two = {"key": "b", "name": "sgd/1", "parameters": {"lr": 0.2, "optimizer": "sgd"}, "tags": ["sgd"]}
    assert add(both, 2, one, two).json() == {"runs": [2, 3], "new": 2}
    return both


def test_a_recorded_run_is_done_and_says_where_it_comes_from(recorded: TestClient) -> None:
    run = recorded.get("/api/v1/runs/2").json()
    assert (run["state"], run["cluster"], run["attempt"], run["attempts"]) == ("done", "elsewhere", 0, [])
    assert run["spec"] == {
        "kind": "recorded",
        "source": "TensorBoard: /logs",
        "name": "lars/1",
        "parameters": {"lr": 0.1, "optimizer": "lars"},
    }
    assert (run["started_at"], run["ended_at"]) == ("2020-05-01T08:00:00Z", "2020-05-01T09:30:00Z")
    (entry,) = run["moves"]
    assert (entry["old"], entry["new"]) == (None, "done")
    assert entry["reason"].startswith("recorded from TensorBoard: /logs")
    experiment = recorded.get("/api/v1/experiments/2").json()
    assert (experiment["state"], experiment["owner"], experiment["tags"]) == ("done", "ada", ["imported"])
    assert experiment["spec"]["base"]["kind"] == "recorded"
    assert recorded.get("/api/v1/runs/3").json()["tags"] == ["sgd"]


def test_the_table_of_runs_and_the_answer_have_recorded_runs(recorded: TestClient) -> None:
    asked = {"where": "experiment = 2 and lr > 0.1", "column": ["lr", "parameters.optimizer", "duration", "source"]}
    (row,) = recorded.get("/api/v1/runs/table", params=asked).json()["rows"]
    assert (row["id"], row["cells"]) == (3, [0.2, "sgd", None, "TensorBoard: /logs"])
    asked = {"where": "experiment = 2", "column": ["duration"], "sort": "id"}
    assert recorded.get("/api/v1/runs/table", params=asked).json()["rows"][0]["cells"] == [5400]
    for run_id, loss in ((2, 0.5), (3, 0.25)):
        body = {"sequence": 1, "series": {"loss": {"steps": [1], "values": [loss]}}}
        assert recorded.post(f"/api/v1/runs/{run_id}/points", json=body).json() == {"stored": True, "next": 2}
    answer = recorded.get("/api/v1/experiments/2/answer")
    assert answer.status_code == 200, answer.text
    assert "loss" in [figure["name"] for figure in answer.json()["figures"]]
    assert recorded.get("/api/v1/experiments/2/checkpoints").status_code == 200
    assert [run["values"]["parameters.lr"] for run in recorded.get("/api/v1/experiments/2/runs").json()["items"]] == [
        0.1,
        0.2,
    ]


def test_a_repeated_request_changes_nothing(recorded: TestClient) -> None:
    again = add(recorded, 2, {"key": "c"}, {"key": "a", "name": "another"}, {"key": "c"})
    assert again.json() == {"runs": [4, 2, 4], "new": 1}
    assert recorded.get("/api/v1/runs/2").json()["spec"]["name"] == "lars/1"
    assert record(recorded, "import-1").json() == record(recorded, "import-1").json() == {"id": 3}
    assert add(recorded, 3, {"key": "a"}).json() == {"runs": [5], "new": 1}, "another experiment, another run"


def test_nothing_starts_a_recorded_run(recorded: TestClient, engine: Engine) -> None:
    assert recorded.post("/api/v1/experiments/2/retry").json() == {
        "queued": [],
        "waiting": [],
        "unchanged": [{"id": run_id, "state": "done", "why": "the run is done"} for run_id in (2, 3)],
    }
    extended = recorded.post("/api/v1/runs/2/extend", json={"epochs": 9})
    assert (extended.status_code, "carried out elsewhere" in extended.text) == (422, True)
    assert recorded.post("/api/v1/experiments/2/points", json={"points": [{"parameters.lr": 1.0}]}).status_code == 409
    assert recorded.post("/api/v1/experiments/2/stop").json() == {"stopping": 0}
    spec = recorded.get("/api/v1/runs/2").json()["spec"]
    refused = recorded.post("/api/v1/experiments", json={"name": "again", "base": spec})
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "base")
    weights = {"run": 2}
    engine_run = recorded.get("/api/v1/runs/1").json()["spec"] | {"initial_weights": weights}
    assert recorded.post("/api/v1/experiments", json={"name": "from it", "base": engine_run}).status_code == 422
    with snapshot(engine) as db:
        assert [run.id for run in runs.in_state(db, State.QUEUED)] == [1]
        assert runs.live(db, ended_after=now() - timedelta(days=10_000)) == []


def test_retention_leaves_recorded_runs_alone(recorded: TestClient, engine: Engine) -> None:
    with transaction(engine) as db:
        retention.remove_points(db, now(), 1_000)
        retention.remove_waits(db, now())
        assert set(db.scalars(select(Run.points_removed_at))) == {None}


def test_a_recorded_experiment_can_be_labeled_archived_and_deleted(recorded: TestClient) -> None:
    assert recorded.patch("/api/v1/experiments/2", json={"name": "renamed", "archived": True}).status_code == 200
    confirm = recorded.get("/api/v1/experiments/2/size").json()["confirm"]
    assert recorded.request("DELETE", "/api/v1/experiments/2", params={"confirm": confirm}).status_code == 200
    assert recorded.get("/api/v1/runs/2").status_code == 404
    assert add(recorded, 2, {"key": "z"}).status_code == 404


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("run", "path"),
    [
        ({}, "runs.0.key"),
        ({"key": ""}, "runs.0.key"),
        ({"key": "a", "parameters": {"lr": {"nested": 1}}}, "runs.0.parameters.lr"),
        ({"key": "a", "parameters": {"": 1}}, "runs.0.parameters"),
        ({"key": "a", "started_at": "yesterday"}, "runs.0.started_at"),
        ({"key": "a", "state": "running"}, "runs.0.state"),
        ({"key": "a", "tags": ["two words"]}, "runs.0.tags.0"),
    ],
)
def test_a_wrong_run_is_refused_at_its_field(recorded: TestClient, run: dict[str, Any], path: str) -> None:
    refused = add(recorded, 2, run)
    assert refused.status_code == 422, refused.text
    assert refused.json()["errors"][0]["path"].startswith(path)


def test_recorded_runs_belong_to_recordings_alone(recorded: TestClient) -> None:
    assert add(recorded, 1, {"key": "a"}).status_code == 409
    assert add(recorded, 99, {"key": "a"}).status_code == 404
    assert add(recorded, 2).status_code == 422
    assert recorded.get("/api/v1/experiments/2/document").status_code == 409
    assert record(recorded, source="").status_code == 422
    assert post(recorded, "name: x\nbase: {kind: recorded, source: y}\n").status_code == 422
