"""Schedules over HTTP: stored, checked as an experiment is, paused, deleted."""

from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.yaml_reader import read_document
from store.session import snapshot
from store.tables.schedules import Schedule
from tests.testing.api import SPEC

PATH = "/api/v1/schedules"
NIGHTLY: dict[str, Any] = {
    "name": "nightly",
    "cron": "30 2 * * *",
    "time_zone": "Europe/Berlin",
    "experiment": read_document(SPEC.encode()),
}


def test_a_schedule_is_stored_listed_paused_resumed_and_deleted(client: TestClient, sqlite_engine: Engine) -> None:
    made = client.post(PATH, json=NIGHTLY, headers={"Bigbatch-User": "ada"})
    assert made.status_code == 201, made.text
    assert (made.json()["owner"], made.json()["missed"], made.json()["overlap"]) == ("ada", "run_once", "skip")
    assert made.json()["next_at"] is not None
    assert client.get(PATH).json()["schedules"] == [made.json()]
    detail = client.get(f"{PATH}/1").json()
    assert (detail["experiment"], detail["starts"]) == (NIGHTLY["experiment"], [])
    assert client.patch(f"{PATH}/1", json={"paused": True}).json()["paused_at"] is not None
    assert client.patch(f"{PATH}/1", json={"paused": False}).json()["paused_at"] is None
    with snapshot(sqlite_engine) as db:
        assert db.get_one(Schedule, 1).version == 2
    assert client.post(PATH, json=NIGHTLY).status_code == 409
    assert client.delete(f"{PATH}/1").status_code == 204
    assert client.delete(f"{PATH}/1").status_code == 404
    assert client.get(f"{PATH}/1").status_code == 404
    assert client.patch(f"{PATH}/1", json={"paused": True}).status_code == 404


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"cron": "0 2 * *"}, "cron"),
        ({"cron": "0 0 30 2 *"}, "cron"),
        ({"time_zone": "Mars/Base"}, "cron"),
        ({"cron": None}, ""),
        ({"path": "/data/x"}, ""),
        ({"cron": None, "path": "/data/x"}, "path"),
        ({"cron": None, "path": "data/x"}, "path"),
        ({"missed": "sometimes"}, "missed"),
        ({"overlap": "maybe"}, "overlap"),
        ({"name": "two words"}, "name"),
        ({"experiment": {"name": "x"}}, "experiment.base"),
        ({"experiment": {**NIGHTLY["experiment"], "notify": [{"target": "none"}]}}, "notify.0.target"),
    ],
)
def test_what_is_not_valid_is_refused_with_its_place(client: TestClient, change: dict[str, Any], path: str) -> None:
    answer = client.post(PATH, json={**NIGHTLY, **change})
    assert answer.status_code == 422, answer.text
    assert path in [one["path"] for one in answer.json()["errors"]]
    assert client.get(PATH).json()["schedules"] == []
