"""Pages of the table of runs behind a place: long texts, times that go on, large numbers and crafted places."""

import json
from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, update

from contract.folder.events import Points
from store.metrics import points
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Job, Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import TO_RUNNING, move

pytestmark = pytest.mark.ring("quick")


@pytest.fixture
def table(both: TestClient) -> TestClient:
    """Four runs: 1, and 2 to 4 of a grid."""
    assert post(both, SPEC + "axes: {seed: [0, 1, 2]}\n").status_code == 201
    return both


def pages(client: TestClient, sort: str) -> list[int]:
    found: list[int] = []
    asked: dict[str, Any] = {"sort": sort, "limit": 1}
    while True:
        answer = client.get("/api/v1/runs/table", params=asked)
        assert answer.status_code == 200, answer.text
        found += [row["id"] for row in answer.json()["rows"]]
        if (following := answer.json()["next"]) is None:
            return found
        asked["after"] = following


def test_pages_in_the_order_of_times_that_go_on_have_each_run_once(table: TestClient, engine: Engine) -> None:
    with transaction(engine) as db:
        for run_id in (1, 2, 3):
            for state in TO_RUNNING:
                move(db, db.get_one(Run, run_id), state)
            began = now() - timedelta(hours=run_id)
            db.execute(update(Job).where(Job.run_id == run_id).values(started_at=began))
    assert pages(table, "-duration") == [3, 2, 1, 4]
    assert pages(table, "duration,-waited") == [1, 2, 3, 4]
    assert sorted(pages(table, "-waited")) == [1, 2, 3, 4]
    # queued runs wait longer from page to page: the later pages count to the moment of the first one
    first = table.get("/api/v1/runs/table", params={"sort": "-waited", "limit": 1}).json()
    assert len(json.loads(first["next"])) == 3


def test_long_texts_are_sorted_by_their_begin_and_have_a_place(table: TestClient) -> None:
    for run_id, notes in ((1, "b" * 9000), (2, "c" * 9000), (3, "a" * 9000), (4, "b" * 8999)):
        assert table.patch(f"/api/v1/runs/{run_id}", json={"notes": notes}).status_code == 200
    assert pages(table, "notes") == [3, 4, 1, 2]
    assert pages(table, "-notes,name,state,notes") == [2, 4, 1, 3]
    for run_id in (1, 2, 3, 4):
        assert table.patch(f"/api/v1/runs/{run_id}", json={"notes": "\U0001f600" * 9000}).status_code == 200
    assert pages(table, "notes") == [4, 3, 2, 1]


def test_the_largest_numbers_of_a_metric_have_a_place(table: TestClient, engine: Engine) -> None:
    with transaction(engine) as db:
        for run_id, value in ((1, 1.7e308), (2, -1.7e308), (3, 2.0**63)):
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=1, values={"loss": value})])
    assert pages(table, "loss") == [2, 3, 1, 4]


@pytest.mark.parametrize(
    ("sort", "after"),
    [
        ("step", f"[3,{10**400}]"),
        ("step", "[3,1e999]"),
        ("notes", r'[3,"a\u0000"]'),
        ("notes", r'[3,"\ud800"]'),
        ("notes", "[3,true]"),
        ("created", '[3,"2026-11-26T08:00:00"]'),
        ("created", '[3,"0001-01-01T00:00:00+23:00"]'),
        ("waited", "[3,1.0]"),
        ("waited", "[3]"),
        ("waited", "[3,1.0,null]"),
    ],
)
def test_a_crafted_place_is_refused(table: TestClient, sort: str, after: str) -> None:
    answer = table.get("/api/v1/runs/table", params={"sort": sort, "after": after})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "after")


def test_a_whole_number_beyond_the_databases_is_a_place(table: TestClient) -> None:
    answer = table.get("/api/v1/runs/table", params={"sort": "step", "after": f"[3,{10**30}]"})
    assert (answer.status_code, answer.json()["rows"]) == (200, [])
