"""Tests of groups of the table of runs: their figures, orders and queries, alike on both databases."""

from statistics import stdev
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.folder.events import Points
from store.metrics import points
from store.session import transaction
from tests.testing.api import post

GRID = """
name: torus sweep
tags: [baseline]
base:
  optimizer: {kind: sgd}
  schedule: {kind: polynomial, rate: 8.0}
  epochs: 3
axes:
  batch: [64, 128]
  optimizer.kind: [lars, sgd]
  seed: [0, 1, 2]
"""
# run 1 is that of the fixture `both`; 2 to 4 are batch 64 lars, 5 to 7 64 sgd, 8 to 10 128 lars, 11 to 13 128 sgd
LOSSES: dict[int, float | None] = {2: 1.0, 3: 2.0, 4: 4.0, 5: 3.0, 6: None, 8: 0.25}


@pytest.fixture
def grid(both: TestClient, engine: Engine) -> TestClient:
    """Thirteen runs, of which five have a loss."""
    assert post(both, GRID).status_code == 201
    with transaction(engine) as db:
        for run_id, loss in LOSSES.items():
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=1, values={"loss": loss})])
    return both


def groups(client: TestClient, **asked: Any) -> Any:
    answer = client.get("/api/v1/runs/groups", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_group_has_the_mean_deviation_and_range_of_its_runs(grid: TestClient) -> None:
    found = groups(grid, by=["batch", "optimizer"], figure="loss", experiment=2)
    assert (found["total"], found["runs"]) == (4, 12)
    first = found["groups"][0]
    assert (first["values"], first["count"]) == ([64, "lars"], 3)
    expected = {"count": 3, "mean": 7 / 3, "deviation": stdev([1.0, 2.0, 4.0]), "least": 1.0, "most": 4.0}
    assert first["figures"] == [pytest.approx(expected)]
    # a run without a finite value counts for the group, not for the figure
    assert found["groups"][1]["figures"] == [{"count": 1, "mean": 3.0, "deviation": None, "least": 3.0, "most": 3.0}]
    assert found["groups"][3]["figures"] == [None]


@pytest.mark.ring("all")
def test_the_query_of_a_group_finds_its_runs_and_no_others(grid: TestClient) -> None:
    for by in (["batch", "optimizer"], ["loss"], ["tag"], ["seed", "name"], ["cause"], ["owner"]):
        for group in groups(grid, by=by, where="id < 12")["groups"]:
            found = grid.get("/api/v1/runs/table", params={"where": group["where"]}).json()
            assert found["total"] == group["count"], group
    text = groups(grid, by="optimizer", where="id = 2 or id = 5")["groups"][0]["where"]
    assert text == "(id = 2 or id = 5) and optimizer = lars"


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("", [[64, "lars"], [64, "sgd"], [128, "lars"], [128, "sgd"]]),
        ("-batch, optimizer", [[128, "lars"], [128, "sgd"], [64, "lars"], [64, "sgd"]]),
        ("loss", [[128, "lars"], [64, "lars"], [64, "sgd"], [128, "sgd"]]),
        ("-loss", [[64, "sgd"], [64, "lars"], [128, "lars"], [128, "sgd"]]),
        ("count, -optimizer", [[64, "sgd"], [128, "sgd"], [64, "lars"], [128, "lars"]]),
    ],
)
def test_groups_are_sorted_and_those_without_a_value_come_last(
    grid: TestClient, sort: str, expected: list[list[object]]
) -> None:
    found = groups(grid, by=["batch", "optimizer"], figure="loss", experiment=2, sort=sort)
    assert [group["values"] for group in found["groups"]] == expected


def test_a_run_with_two_tags_is_in_both_groups_and_counts_once(grid: TestClient) -> None:
    assert grid.patch("/api/v1/runs/2", json={"add_tags": ["lars"]}).status_code == 200
    found = groups(grid, by="tag", limit=2)
    assert found["runs"] == 13
    assert found["total"] == 3
    assert [(group["values"], group["count"]) for group in found["groups"]] == [(["baseline"], 12), (["lars"], 1)]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"by": "created"}, "differs in every run"),
        ({"by": "batch", "figure": "name"}, "name has no numbers"),
        ({"by": "bacth"}, "did you mean 'batch'?"),
        ({"by": "batch", "sort": "loss"}, "groups have no 'loss': expected one of count, batch"),
        ({"by": "batch", "sort": "batch +"}, "expected"),
        ({}, "required field"),
    ],
)
def test_wrong_groups_are_refused_with_the_reason(grid: TestClient, asked: dict[str, str], message: str) -> None:
    answer = grid.get("/api/v1/runs/groups", params=asked)
    assert answer.status_code == 422
    assert message in answer.text


def test_a_value_with_both_quotes_has_a_query(both: TestClient) -> None:
    assert both.patch("/api/v1/experiments/1", json={"name": '"five" o\'clock'}).status_code == 200
    assert [group["where"] for group in groups(both, by="name")["groups"]] == ['name = """five"" o\'clock"']


def test_the_query_of_a_number_leaves_out_the_text_that_reads_so(both: TestClient) -> None:
    program = "{kind: program, command: 'echo {x}', parameters: {x: 0}}"
    assert post(both, f"name: own\nbase: {program}\naxes: {{parameters.x: [1, '1', 2]}}\n").status_code == 201
    found = {repr(group["values"][0]): group["where"] for group in groups(both, by="x", where="id > 1")["groups"]}
    assert found == {
        "1": '(id > 1) and x = 1 and x != "1"',
        "2": "(id > 1) and x = 2",
        "'1'": '(id > 1) and x = "1"',
    }
    for value, run_id in (("1", 2), ("'1'", 3), ("2", 4)):
        rows = both.get("/api/v1/runs/table", params={"where": found[value]}).json()["rows"]
        assert [row["id"] for row in rows] == [run_id]
