"""Searches over HTTP: made, read, paused, resumed, extended and refused."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.lifecycle.trial import EndCause, TrialStatus
from store.search import searches
from store.session import transaction
from tests.testing.api import SPEC, post

SEARCH = """
name: a search
base:
  optimizer: {kind: sgd}
  schedule: {kind: constant, rate: 0.1}
  batch: 64
  epochs: 9
  resources: {kind: local}
search:
  space:
    schedule.rate: {kind: log_uniform, low: 0.01, high: 1.0}
    optimizer.momentum: {kind: uniform, low: 0.0, high: 0.9}
  sampler: {kind: tpe}
  trials: 20
  early_stopping: {kind: asha, first: 1}
"""
EXPERIMENT = "/api/v1/experiments/1"


@pytest.fixture
def search(client: TestClient) -> TestClient:
    """The API with a search as experiment 1."""
    answer = post(client, SEARCH)
    assert (answer.status_code, answer.json()["runs"]) == (201, [])
    return client


def add_trials(engine: Engine, size: int) -> None:
    """Store trials that have ended, the better the lower their rate."""
    with transaction(engine) as db:
        found = searches.of_experiment(db, 1)
        assert found is not None
        locked = searches.lock(db, found.id)
        assert locked is not None
        rows: list[dict[str, Any]] = [
            {
                "search_id": found.id,
                "number": number,
                "params": {"schedule.rate": 0.01 * (number + 1), "optimizer.momentum": 0.1 * (number % 7)},
                "memory": {},
                "seed": number,
                "status": TrialStatus.RUNNING,
                "bracket": 0,
                "rungs": [0.9 - 0.01 * number],
                "first_run": number,
                "runs": 1,
            }
            for number in reversed(range(size))
        ]
        searches.add_trials(db, rows)
        for number in range(size):
            change = {"status": TrialStatus.DONE, "value": 0.95 - 0.01 * (number - 3) ** 2}
            searches.change_trial(db, found.id, number, change)


def test_a_new_search_has_not_ended_and_has_no_trials(search: TestClient) -> None:
    detail, found = search.get(EXPERIMENT).json(), search.get(f"{EXPERIMENT}/search").json()
    assert (detail["state"], detail["runs"], detail["progress"]) == ("queued", 0, 0.0)
    assert detail["spec"]["search"]["at_once"] == 4
    assert (found["status"], found["wanted"], found["trials"], found["best"]) == ("running", 20, [], None)
    assert found["resources"] == [[1.0, 3.0]]
    listed = search.get("/api/v1/experiments?state=queued").json()["items"]
    assert [one["id"] for one in listed] == [1]


def test_the_best_trial_the_best_so_far_and_what_mattered(search: TestClient, sqlite_engine: Engine) -> None:
    add_trials(sqlite_engine, 15)
    found = search.get(f"{EXPERIMENT}/search").json()
    assert (found["best"]["number"], found["best"]["value"]) == (3, pytest.approx(0.95))
    assert [one["number"] for one in found["best_so_far"]] == [0, 1, 2, 3]
    assert found["counts"] == {"done": 15}
    assert next(iter(found["importance"])) == "schedule.rate"
    assert search.get(EXPERIMENT).json()["progress"] == pytest.approx(0.75)


def test_pause_and_resume(search: TestClient) -> None:
    answers = [search.post(f"{EXPERIMENT}/search/{name}").json() for name in ("pause", "pause", "resume", "resume")]
    assert [(one["status"], one["changed"]) for one in answers] == [
        ("paused", True),
        ("paused", False),
        ("running", True),
        ("running", False),
    ]


def test_an_extension_lets_a_search_that_has_ended_go_on(search: TestClient, sqlite_engine: Engine) -> None:
    with transaction(sqlite_engine) as db:
        found = searches.of_experiment(db, 1)
        assert found is not None
        locked = searches.lock(db, found.id)
        assert locked is not None
        searches.end(db, locked, EndCause.TRIALS)
    assert search.get(EXPERIMENT).json()["state"] == "done"
    answer = search.post(f"{EXPERIMENT}/search/extend", json={"trials": 30}).json()
    assert (answer["status"], answer["wanted"], answer["changed"]) == ("running", 30, True)
    assert search.get(f"{EXPERIMENT}/search").json()["spec"]["trials"] == 30


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("asked", "path", "message"),
    [
        ({"trials": 19}, "trials", "the search has 20 trials, more than 19"),
        ({"trials": 10_001}, "trials", "less than or equal to 10000"),
        ({"rank_hours": 3.0}, "rank_hours", "the search has no budget"),
        ({"trails": 30}, "trails", "unknown field"),
    ],
)
def test_an_extension_that_is_none_is_refused(search: TestClient, asked: Any, path: str, message: str) -> None:
    answer = search.post(f"{EXPERIMENT}/search/extend", json=asked)
    assert answer.status_code == 422
    (issue,) = answer.json()["errors"]
    assert issue["path"] == path
    assert message in issue["message"]


@pytest.mark.ring("all")
def test_a_stop_ends_the_search(search: TestClient, sqlite_engine: Engine) -> None:
    assert search.post(f"{EXPERIMENT}/stop").status_code == 200
    with transaction(sqlite_engine) as db:
        found = searches.of_experiment(db, 1)
        assert found is not None
        assert found.stop_requested_at is not None


def test_an_experiment_without_a_search_has_none(client: TestClient) -> None:
    post(client, SPEC)
    for request in (client.get(f"{EXPERIMENT}/search"), client.post(f"{EXPERIMENT}/search/pause")):
        assert (request.status_code, request.json()["code"]) == (404, "not_found")


def test_points_of_a_search_are_its_samplers(search: TestClient) -> None:
    answer = search.post(f"{EXPERIMENT}/points", json={"points": [{"schedule.rate": 0.3}]})
    assert answer.status_code == 409
    assert "the sampler of experiment 1 chooses its points" in answer.json()["detail"]


def test_a_bad_search_is_refused_with_its_place(client: TestClient) -> None:
    answer = post(client, SEARCH.replace("low: 0.01", "low: 2.0").replace("kind: tpe", "kind: tpi"))
    assert answer.status_code == 422
    assert {issue["path"] for issue in answer.json()["errors"]} == {
        "search.space.schedule.rate.high",
        "search.sampler",
    }


def test_a_dry_run_of_a_search_shows_one_example(client: TestClient) -> None:
    answer = client.post(
        "/api/v1/experiments?dry_run=true", content=SEARCH, headers={"content-type": "application/yaml"}
    ).json()
    assert [run["values"] for run in answer["runs"]] == [
        {"schedule.rate": pytest.approx(0.1), "optimizer.momentum": pytest.approx(0.45)}
    ]


def test_a_deleted_experiment_has_no_search(search: TestClient, sqlite_engine: Engine) -> None:
    assert search.delete(EXPERIMENT, params={"confirm": "a search"}).json()["runs"] == 0
    with transaction(sqlite_engine) as db:
        assert searches.open_ids(db) == []
