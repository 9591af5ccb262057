"""DELETE and size: a deletion says first what it removes, needs a confirmation, and hides everything at once."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Engine, update

from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from store.session import transaction
from store.tables.experiments import Experiment
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import move

NAME = "lars against sgd"
EXPERIMENT = "/api/v1/experiments/2"


@pytest.fixture
def ended(both: TestClient, engine: Engine, tmp_path: Path) -> TestClient:
    """The runs 2 and 3 of experiment 2 have ended; run 2 has two files, and a link that leads out of its folder."""
    assert post(both, SPEC + "axes: {seed: [0, 1]}\n").status_code == 201
    with transaction(engine) as db:
        for run_id in (2, 3):
            run = db.get_one(Run, run_id)
            move(db, run, State.CANCELLED)
        folder = RunFolder.of(tmp_path / "runs", 2, db.get_one(Run, 2).key).path
    (folder / "checkpoints").mkdir(parents=True)
    (folder / "out.log").write_bytes(b"x" * 100)
    (folder / "checkpoints" / "large").write_bytes(b"x" * 1000)
    (folder / "link").symlink_to("/usr")
    return both


def test_the_size_counts_files_and_follows_no_link(ended: TestClient) -> None:
    size = {"size_bytes": 1100, "files": 2, "is_complete": True, "undo_hours": 24, "blocked_by": []}
    assert ended.get(f"{EXPERIMENT}/size").json() == {**size, "runs": 2, "confirm": NAME}
    folder = Path(ended.get("/api/v1/runs/2").json()["folder"])
    assert ended.get("/api/v1/runs/2/size").json() == {**size, "runs": 1, "confirm": folder.name}


def test_a_deletion_needs_the_confirmation(ended: TestClient) -> None:
    for query in ("", "?confirm=", "?confirm=another"):
        answer = ended.delete(EXPERIMENT + query)
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert ended.get(EXPERIMENT).json()["runs"] == 2


def test_a_deleted_experiment_is_shown_nowhere_and_a_repeated_request_is_accepted(ended: TestClient) -> None:
    assert ended.delete(EXPERIMENT, params={"confirm": NAME}).json()["runs"] == 2
    assert ended.delete(EXPERIMENT, params={"confirm": NAME}).json()["runs"] == 0
    for path in ("", "/runs", "/points", "/failures", "/checkpoints", "/size"):
        assert ended.get(EXPERIMENT + path).status_code == 404, path
    for path in ("", "/points", "/ranks", "/log", "/size", "/environment", "/differences?other=1"):
        assert ended.get(f"/api/v1/runs/3{path}").status_code == 404, path
    assert ended.get("/api/v1/runs/1/differences?other=3").status_code == 404
    for verb in ("stop", "retry"):
        assert ended.post(f"/api/v1/runs/3/{verb}").status_code == ended.post(f"{EXPERIMENT}/{verb}").status_code == 404
    assert ended.patch(EXPERIMENT, json={}).status_code == ended.patch("/api/v1/runs/3", json={}).status_code == 404
    for archived in ("false", "true"):
        listed = [ended.get(f"/api/v1/{kind}?archived={archived}").json()["items"] for kind in ("experiments", "runs")]
        assert [[one["id"] for one in items] for items in listed] == ([[1], [1]] if archived == "false" else [[], []])


def test_a_deleted_run_leaves_its_experiment(ended: TestClient) -> None:
    confirm = ended.get("/api/v1/runs/2/size").json()["confirm"]
    assert ended.delete(f"/api/v1/runs/2?confirm={confirm}").json()["runs"] == 1
    shown = ended.get(EXPERIMENT).json()
    assert (shown["runs"], shown["counts"]) == (1, {"cancelled": 1})
    assert [run["id"] for run in ended.get(f"{EXPERIMENT}/runs").json()["items"]] == [3]
    assert ended.get(f"{EXPERIMENT}/size").json()["runs"] == 1
    assert ended.post(f"{EXPERIMENT}/retry").json()["queued"] == [3]
    ended.post(f"{EXPERIMENT}/stop")
    assert [run["id"] for run in ended.get("/api/v1/runs?state=cancelled").json()["items"]] == []


def test_what_has_not_ended_is_not_deleted(ended: TestClient) -> None:
    ended.post("/api/v1/runs/3/retry")
    assert ended.get(f"{EXPERIMENT}/size").json()["blocked_by"] == [3]
    answer = ended.delete(EXPERIMENT, params={"confirm": NAME})
    assert (answer.status_code, answer.json()["detail"]) == (
        409,
        "only what has ended can be deleted: stop these runs first: 3",
    )
    assert ended.delete("/api/v1/runs/3?confirm=x").status_code == 409


def test_an_id_that_never_was_is_not_found(ended: TestClient) -> None:
    for path in ("experiments/0", "experiments/99", "runs/0", "runs/99"):
        assert ended.delete(f"/api/v1/{path}?confirm=x").status_code == 404
        assert ended.get(f"/api/v1/{path}/size").status_code == 404


def test_a_deletion_can_be_undone_while_it_is_listed(ended: TestClient) -> None:
    before = ended.get(EXPERIMENT).json()
    deleted = ended.delete(EXPERIMENT, params={"confirm": NAME}).json()
    again = ended.delete(EXPERIMENT, params={"confirm": NAME}).json()
    assert again == {"runs": 0, "restorable_until": deleted["restorable_until"]}
    until = datetime.fromisoformat(deleted["restorable_until"])
    assert timedelta(hours=23) < until - datetime.now(UTC) <= timedelta(hours=24)
    [listed] = ended.get("/api/v1/deletions").json()["items"]
    assert (listed["kind"], listed["id"], listed["name"], listed["runs"]) == ("experiment", 2, NAME, 2)
    assert listed["restorable_until"] == deleted["restorable_until"]
    assert ended.post("/api/v1/runs/3/restore").json()["detail"].endswith("restore the experiment first")
    assert ended.post(f"{EXPERIMENT}/restore").json() == {"runs": 2}
    assert ended.post(f"{EXPERIMENT}/restore").json() == {"runs": 0}
    assert ended.get(EXPERIMENT).json() == before
    assert ended.get("/api/v1/deletions").json() == {"items": [], "next": None}


def test_deletions_of_runs_are_listed_in_pages(ended: TestClient) -> None:
    for run_id in (2, 3):
        confirm = ended.get(f"/api/v1/runs/{run_id}/size").json()["confirm"]
        ended.delete(f"/api/v1/runs/{run_id}", params={"confirm": confirm})
    first = ended.get("/api/v1/deletions?limit=1").json()
    assert ended.post("/api/v1/runs/3/restore").json() == {"runs": 1}  # and the next page leaves nothing out
    second = ended.get(f"/api/v1/deletions?limit=1&after={first['next']}").json()
    assert ended.get("/api/v1/deletions?after=50").status_code == 422
    assert [(one["kind"], one["id"]) for page in (first, second) for one in page["items"]] == [("run", 3), ("run", 2)]
    assert second["next"] is None
    assert ended.post("/api/v1/runs/2/restore").json() == {"runs": 1}
    assert ended.post("/api/v1/runs/2/restore").json() == {"runs": 0}
    assert ended.get("/api/v1/runs/2").json()["state"] == "cancelled"


def test_a_removal_that_has_begun_is_not_undone(ended: TestClient, engine: Engine) -> None:
    ended.delete(EXPERIMENT, params={"confirm": NAME})
    with transaction(engine) as db:
        for table in (Experiment, Run):
            db.execute(update(table).values(restorable_until=None))
    for path in (EXPERIMENT, "/api/v1/runs/3"):
        answer = ended.post(f"{path}/restore")
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict"), answer.text
    assert ended.get("/api/v1/deletions").json()["items"] == []
    for path in ("experiments/0", "experiments/99", "runs/0", "runs/99"):
        assert ended.post(f"/api/v1/{path}/restore").status_code == 404


def test_a_service_without_time_for_an_undo_says_so(both: TestClient, engine: Engine) -> None:
    with transaction(engine) as db:
        move(db, db.get_one(Run, 1), State.CANCELLED)
    state = cast(FastAPI, both.app).state
    state.settings = state.settings.model_copy(update={"delete_hours": 0})
    deleted = both.delete("/api/v1/experiments/1", params={"confirm": NAME}).json()
    assert deleted == {"runs": 1, "restorable_until": None}
    assert both.post("/api/v1/experiments/1/restore").status_code == 409
