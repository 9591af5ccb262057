"""Parameters that are objects: the table, its files and its queries have them, and they are not missing."""

import csv
import io
import json

import pytest
from fastapi.testclient import TestClient

from tests.testing.api import post

OBJECTS = """
name: objects
base: {kind: program, command: train, parameters: {opt: {lr: 0.1, deep: {on: true}}, plain: 1}}
axes:
  parameters.opt: [{lr: 0.1, deep: {on: true}}, {lr: 2, name: sgd}, 7, null]
"""


@pytest.fixture
def run_ids(both: TestClient) -> list[int]:
    answer = post(both, OBJECTS, force=True)
    assert answer.status_code == 201, answer.text
    found: list[int] = answer.json()["runs"]
    return found


def found_by(both: TestClient, where: str) -> list[int]:
    answer = both.get("/api/v1/runs/table", params={"where": where})
    assert answer.status_code == 200, answer.text
    return sorted(row["id"] for row in answer.json()["rows"])


def test_an_object_is_json_in_the_table_and_in_its_files(both: TestClient, run_ids: list[int]) -> None:
    asked = {"where": "name = objects", "column": ["parameters.opt"], "sort": "id"}
    cells = [row["cells"][0] for row in both.get("/api/v1/runs/table", params=asked).json()["rows"]]
    text = both.get("/api/v1/export/runs", params=asked).text
    files = [row["parameters.opt"] for row in csv.DictReader(io.StringIO(text))]
    expected = [{"lr": 0.1, "deep": {"on": True}}, {"lr": 2, "name": "sgd"}, 7, None]
    assert [json.loads(cell) if isinstance(cell, str) else cell for cell in cells] == expected
    assert [json.loads(cell) if cell else None for cell in files] == expected


def test_an_object_is_not_null_and_a_missing_one_is(both: TestClient, run_ids: list[int]) -> None:
    first, second, seven, missing = run_ids
    here = "name = objects and "
    assert found_by(both, here + "parameters.opt = null") == [missing]
    assert found_by(both, here + "parameters.opt != null") == [first, second, seven]
    assert found_by(both, here + "parameters.opt = 7") == [seven]
    assert found_by(both, here + "parameters.opt.lr = 2") == [second]
    assert found_by(both, here + "opt.deep.on = null") == [second, seven, missing]


def test_the_names_of_moments_say_that_a_query_is_in_utc(both: TestClient) -> None:
    titles = {one["name"]: one["title"] for one in both.get("/api/v1/runs/names").json()["names"]}
    assert all("UTC" in titles[name] for name in ("created", "started", "ended"))
