"""The comparison of chosen runs: what differs, their metrics, their curves, and the table of them alone."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from bigbatch.client import Client
from contract.folder.events import Points
from contract.folder.run_folder import RunFolder
from store.metrics import points
from store.metrics.chunks import write_points
from store.metrics.packing import Points as Columns
from store.metrics.series import ids_of
from store.session import transaction
from store.tables.runs import Run
from tests.testing.api import SPEC, TOKEN, post
from tests.testing.snapshots import post_tree
from tests.testing.stored_runs import TO_RUNNING, add_job, move

GRID = (
    SPEC.replace("  resources: {kind: local, ranks_per_node: 4}\n", "")
    + "axes: {schedule.rate: [8.0, 4.0], seed: [0, 1]}\n"
)
PROGRAM = """
name: a program
base: {{kind: program, command: "python train.py --lr {{lr}}", launcher: plain, code: {code}, parameters: {{lr: {lr}}}}}
"""
# run 1 of the fixture: lars, rate 8, seed 0; runs 2 to 5: rate 8 seeds 0 and 1, rate 4 seeds 0 and 1


@pytest.fixture
def grid(both: TestClient) -> TestClient:
    assert post(both, GRID).status_code == 201
    return both


def compare(client: TestClient, *ids: int) -> dict[str, Any]:
    answer = client.get("/api/v1/runs/comparison", params={"run": ids})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def by_path(fields: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return the value of each run at each path."""
    return {field["path"]: [field["choices"][place] for place in field["places"]] for field in fields}


@pytest.mark.ring("all")
def test_runs_of_several_experiments_are_compared_by_the_fields_in_which_they_differ(grid: TestClient) -> None:
    found = compare(grid, 5, 2, 3)
    assert found["runs"] == [5, 2, 3]
    assert by_path(found["spec"]) == {"schedule.rate": [4, 8, 8], "seed": [1, 0, 1]}
    across = by_path(compare(grid, 1, 2)["spec"])
    # the experiment of run 1 names its resources, and the runs have nothing else that differs
    assert across
    assert all(path.startswith("resources.") for path in across)
    assert compare(grid, 2, 2)["spec"] == []


def test_values_are_numbers_then_texts_then_none(grid: TestClient) -> None:
    sgd = GRID.replace("kind: lars", "kind: sgd, momentum: 0.5").replace(
        "axes: {schedule.rate: [8.0, 4.0], ", "axes: {"
    )
    assert post(grid, sgd).status_code == 201
    found = {field["path"]: field for field in compare(grid, 2, 6)["spec"]}
    assert found["optimizer.kind"] == {"path": "optimizer.kind", "choices": ["lars", "sgd"], "places": [0, 1]}
    absent = [field for field in found.values() if None in field["choices"]]
    assert absent
    assert all(field["choices"][-1] is None for field in absent)


@pytest.mark.ring("all")
def test_the_metrics_of_the_runs_are_named_with_the_number_of_their_runs(grid: TestClient, engine: Engine) -> None:
    with transaction(engine) as db:
        for run_id, values in {2: {"loss": 1.0, "val_acc": 0.5}, 3: {"loss": 2.0}, 4: {"other": 1.0}}.items():
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=1, values=values)])
    assert compare(grid, 2, 3)["metrics"] == [
        {"name": "loss", "runs": 2, "is_better_when_higher": False},
        {"name": "val_acc", "runs": 1, "is_better_when_higher": True},
    ]


@pytest.mark.ring("all")
def test_unknown_runs_are_left_out_and_none_at_all_is_refused(grid: TestClient) -> None:
    assert compare(grid, 99, 2, 3)["runs"] == [2, 3]
    assert grid.get("/api/v1/runs/comparison", params={"run": [99]}).status_code == 404
    assert grid.get("/api/v1/runs/comparison").status_code == 422
    assert grid.get("/api/v1/runs/comparison", params={"run": [*range(501)]}).status_code == 422


@pytest.mark.ring("all")
def test_code_and_environments_are_compared(client: TestClient, sqlite_engine: Engine, tmp_path: Path) -> None:
    hashes = [post_tree(client, {"train.py": text}) for text in (b"one", b"two")]
    ids = [add_program(client, sqlite_engine, code) for code in (hashes[0], hashes[0], hashes[1])]
    for run_id, version in zip(ids, ("2.8", "2.9"), strict=False):
        write_environment(sqlite_engine, tmp_path, run_id, version)
    found = compare(client, *ids)
    assert by_path([found["code"]]) == {"code": [hashes[0], hashes[0], hashes[1]]}
    assert "code" not in by_path(found["spec"])
    assert by_path(found["environment"]) == {"packages.torch": ["2.8", "2.9", None]}
    assert found["environment_note"] == "1 of 3 runs have no record of their environment"
    same = compare(client, *ids[:1])
    assert (same["code"], same["environment"], same["environment_note"]) == (None, [], None)


def add_program(client: TestClient, engine: Engine, code: str) -> int:
    answer = post(client, PROGRAM.format(code=code, lr=0.1))
    assert answer.status_code == 201, answer.text
    (run_id,) = answer.json()["runs"]
    with transaction(engine) as db:
        run = db.get_one(Run, run_id)
        add_job(db, run, external_id=f"job{run_id}")
        for state in TO_RUNNING:
            move(db, run, state)
    return int(run_id)


def write_environment(engine: Engine, home: Path, run_id: int, version: str) -> None:
    with transaction(engine) as db:
        folder = RunFolder.of(home / "runs", run_id, db.get_one(Run, run_id).key).path
    (folder / "attempts").mkdir(parents=True)
    record = {"attempt": 1, "at": 1.0, "host": "n1", "packages": {"torch": version, "numpy": "2.3"}}
    (folder / "attempts" / "1.environment.json").write_text(json.dumps(record))


def store(engine: Engine, run_id: int, values: Mapping[int, float], name: str = "loss") -> None:
    with transaction(engine) as db:
        series_id = ids_of(db, [(run_id, name)], [run_id])[run_id, name]
        write_points(db, {series_id: Columns(np.array([*values], np.int64), np.array([*values.values()], np.float64))})


def curves(client: TestClient, *ids: int, **asked: Any) -> list[dict[str, Any]]:
    answer = client.get("/api/v1/runs/curves", params={"run": ids, **asked})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["curves"])


def test_curves_of_runs_of_several_experiments_come_in_one_answer(grid: TestClient, engine: Engine) -> None:
    store(engine, 1, {1: 0.5, 2: math.nan, 3: 1 / 3})
    store(engine, 3, {step: 9.0 if step == 7_777 else 1.0 / step for step in range(1, 20_001)})
    long, short = curves(grid, 3, 4, 1, buckets=100)
    assert (long["run_id"], short["run_id"]) == (3, 1)
    assert (long["width"], long["last_step"]) == (224, 20_000)
    assert long["max"][7_777 // 224] == 9.0
    assert long["min"][1] == pytest.approx(1 / 447, rel=1e-6)
    assert len(long["steps"]) == len(long["mean"]) == len(long["min"]) == len(long["max"]) == 90
    assert short == {
        **{"run_id": 1, "width": 1, "last_step": 3, "steps": [1, 2, 3], "mean": [0.5, None, 0.3333333]},
        **{"min": None, "max": None, "not_finite": [2], "devices": 4, "restarts": []},
    }
    assert curves(grid, 3, name="absent") == []


def test_a_range_of_the_curves_is_point_by_point(grid: TestClient, engine: Engine) -> None:
    store(engine, 2, {step: float(step) for step in range(1, 5_001)})
    (found,) = curves(grid, 2, buckets=50, **{"from": 100, "to": 120})
    assert (found["width"], found["steps"], found["mean"][-1]) == (1, [*range(100, 121)], 120.0)


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("value", [0.0, -1.5, 1e-320, 5e-324, 1e300, -1.7e308, 123_456_789.0, 1.0000001])
def test_values_of_curves_have_seven_digits(client: TestClient, sqlite_engine: Engine, value: float) -> None:
    assert post(client, GRID).status_code == 201
    store(sqlite_engine, 1, {1: value})
    (found,) = curves(client, 1)
    assert found["mean"] == [pytest.approx(value, rel=5e-7, abs=5e-324)]


def test_the_table_has_chosen_runs_alone(grid: TestClient) -> None:
    found = grid.get("/api/v1/runs/table", params={"run": [5, 2], "column": "schedule.rate", "sort": "id"}).json()
    assert [(row["id"], row["cells"]) for row in found["rows"]] == [(2, [8]), (5, [4])]
    assert grid.patch("/api/v1/runs/5", json={"archived": True}).status_code == 200
    chosen = grid.get("/api/v1/runs/table", params={"run": [5, 2], "where": "seed = 1"}).json()
    assert [row["id"] for row in chosen["rows"]] == [5]


def test_the_python_client_compares_runs(client: TestClient, sqlite_engine: Engine) -> None:
    assert post(client, GRID).status_code == 201
    store(sqlite_engine, 2, {1: 0.25})

    def answer(request: httpx.Request) -> httpx.Response:
        found = client.get(request.url.raw_path.decode())
        return httpx.Response(found.status_code, content=found.content)

    with Client("http://service", TOKEN, transport=httpx.MockTransport(answer)) as bigbatch:
        assert [field.path for field in bigbatch.compare([1, 2]).spec] == ["seed"]
        (curve,) = bigbatch.curves_of_runs([1, 2], "loss")
        assert (curve.run_id, curve.mean) == (2, [0.25])
