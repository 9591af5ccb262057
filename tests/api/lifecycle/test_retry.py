"""POST .../retry: ended runs are queued again as the same runs, others stay, and a repeated request changes nothing."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import StopSource
from contract.lifecycle.state import State
from contract.spec.checkpoint import Checkpoint
from store import runs
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import TO_RUNNING, current_job, end_attempt, move

SEEDS = SPEC + "axes: {seed: [0, 1, 2, 3]}\n"
ENDS = [State.FAILED, State.CANCELLED, State.DONE]  # of the runs 2, 3 and 4; run 5 waits


@pytest.fixture
def ended(both: TestClient, engine: Engine) -> TestClient:
    """Experiment 2 with a failed run whose job still lives, a cancelled run, a run that is done, and one that waits."""
    assert post(both, SEEDS).status_code == 201
    with transaction(engine) as db:
        for run_id, end in zip((2, 3, 4), ENDS, strict=True):
            run = db.get_one(Run, run_id)
            for state in TO_RUNNING:
                move(db, run, state)
            end_attempt(db, run, ExitCause.FAILURE, "no")
            current_job(db, run).is_gone = end is not State.FAILED
            run.excluded, run.stop_requested_at, run.stop_source = ["n1"], now(), StopSource.USER
            move(db, run, end)
    return both


def test_failed_and_cancelled_runs_go_on_and_the_others_are_listed(ended: TestClient, engine: Engine) -> None:
    with transaction(engine) as db:
        need = db.get_one(Run, 5).need
        db.get_one(Run, 2).need = "an exclusion of n1"
    answer = ended.post("/api/v1/experiments/2/retry", headers={"Bigbatch-User": "ada"})
    assert answer.json() == {
        "queued": [2, 3],
        "waiting": [2],
        "unchanged": [
            {"id": 4, "state": "done", "why": "the run is done"},
            {"id": 5, "state": "queued", "why": "the run has not ended"},
        ],
    }
    with transaction(engine) as db:
        for run_id in (2, 3):
            run = db.get_one(Run, run_id)
            assert (run.state, run.attempt, run.retries_after, run.excluded) == (State.QUEUED, 1, 1, [])
            assert (run.ended_at, run.stop_requested_at, run.stop_source, run.need) == (None, None, None, need)
    moved = ended.get("/api/v1/runs/3").json()["moves"][-1]
    assert (moved["old"], moved["new"], moved["reason"]) == ("cancelled", "queued", "ada asked for a retry")


def test_a_repeated_request_changes_nothing(ended: TestClient) -> None:
    ended.post("/api/v1/experiments/2/retry")
    before = ended.get("/api/v1/runs/2").json()
    again = ended.post("/api/v1/experiments/2/retry").json()
    assert (again["queued"], [one["id"] for one in again["unchanged"]]) == ([], [2, 3, 4, 5])
    assert ended.get("/api/v1/runs/2").json() == before


def test_only_the_named_states_are_retried(ended: TestClient) -> None:
    answer = ended.post("/api/v1/experiments/2/retry", json={"states": ["failed"]}).json()
    assert answer["queued"] == [2]
    assert answer["unchanged"][0]["why"] == "the request is not for runs that are cancelled"
    assert ended.post("/api/v1/runs/4/retry").json()["unchanged"][0]["state"] == "done"
    assert ended.post("/api/v1/runs/3/retry", json={"states": ["cancelled"]}).json()["queued"] == [3]


def test_a_retry_may_accept_data_that_are_not_those_of_the_checkpoint(ended: TestClient, engine: Engine) -> None:
    """The next attempt gets it with its spec, and the table of runs finds it; other runs of the experiment stay."""
    ended.post("/api/v1/runs/3/retry")
    assert not ended.get("/api/v1/runs/3").json()["spec"]["checkpoint"]["accept_new_data"]
    assert ended.post("/api/v1/runs/2/retry", json={"accept_new_data": True}).json()["queued"] == [2]
    checkpoint = ended.get("/api/v1/runs/2").json()["spec"]["checkpoint"]
    assert checkpoint == {**Checkpoint().model_dump(), "accept_new_data": True}
    with transaction(engine) as db:
        assert [db.get_one(Run, run_id).reuse_key is None for run_id in (2, 5)] == [True, False]
    found = ended.get("/api/v1/runs/table", params={"where": "checkpoint.accept_new_data = true"}).json()
    assert [row["id"] for row in found["rows"]] == [2]


def test_a_run_that_is_retried_waits_for_its_last_job(ended: TestClient, engine: Engine) -> None:
    """Forces the fault: a job outlives its run."""
    ended.post("/api/v1/experiments/2/retry")
    shown = ended.get("/api/v1/runs/2").json()["reason"]
    assert "the next attempt waits: local still has job 4202 of attempt 1" in shown
    with transaction(engine) as db:
        assert [run.id for run in runs.queued(db, "local", 10)] == [1, 3, 5]
        current_job(db, db.get_one(Run, 2)).is_gone = True
    with transaction(engine) as db:
        assert [run.id for run in runs.queued(db, "local", 10)] == [1, 2, 3, 5]
    assert "waits" not in ended.get("/api/v1/runs/2").json()["reason"]


@pytest.mark.ring("all")
def test_the_history_says_that_earlier_points_were_removed(ended: TestClient, engine: Engine) -> None:
    with transaction(engine) as db:
        db.get_one(Run, 3).points_removed_at = now()
    ended.post("/api/v1/runs/3/retry")
    run = ended.get("/api/v1/runs/3").json()
    assert "the points of its earlier attempts were removed before" in run["moves"][-1]["reason"]
    assert (run["points_removed_at"], run["state"]) == (None, "queued")


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("body", [{"states": []}, {"states": ["done"]}, {"state": ["failed"]}])
def test_a_wrong_request_is_refused(ended: TestClient, body: dict[str, object]) -> None:
    assert ended.post("/api/v1/experiments/2/retry", json=body).status_code == 422
    assert ended.post("/api/v1/experiments/99/retry").status_code == 404


def test_the_folder_of_a_retried_run_is_the_same(ended: TestClient, tmp_path: Path) -> None:
    before = ended.get("/api/v1/runs/3").json()["folder"]
    ended.post("/api/v1/runs/3/retry")
    assert ended.get("/api/v1/runs/3").json()["folder"] == before
