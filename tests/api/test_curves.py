"""Curves in buckets by REST: ranges, several runs, values that are not finite, and growth."""

import math
from collections.abc import Mapping
from typing import Any

import httpx
import numpy as np
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from bigbatch.client import Client
from contract.metric_names import LOSS
from store.metrics.chunks import write_points
from store.metrics.packing import Points
from store.metrics.series import ids_of
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Restart
from tests.testing.api import SPEC, TOKEN, post

TWO_RUNS = SPEC + "axes: {seed: [0, 1]}\n"


@pytest.fixture
def runs(client: TestClient) -> tuple[int, int]:
    assert post(client, TWO_RUNS).status_code == 201
    return 1, 2


def store(engine: Engine, run_id: int, values: Mapping[int, float], name: str = LOSS) -> None:
    with transaction(engine) as db:
        series_id = ids_of(db, [(run_id, name)], [run_id])[run_id, name]
        points = Points(np.array([*values], np.int64), np.array([*values.values()], np.float64))
        write_points(db, {series_id: points})


def curve(client: TestClient, run_id: int, **asked: Any) -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run_id}/curves", params=asked)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["series"][LOSS])


def test_a_long_curve_is_answered_in_buckets_and_a_short_range_point_by_point(
    client: TestClient, sqlite_engine: Engine, runs: tuple[int, int]
) -> None:
    store(sqlite_engine, 1, {step: 9.0 if step == 7_777 else 1.0 / step for step in range(1, 20_001)})
    whole = curve(client, 1, buckets=100)
    assert (whole["width"], whole["first_step"], whole["last_step"]) == (224, 1, 20_000)
    assert sum(whole["counts"]) == 20_000
    assert whole["max"][7_777 // 224] == 9.0
    assert whole["last"][-1] == 1 / 20_000
    part = curve(client, 1, buckets=100, **{"from": 7_750, "to": 7_800})
    assert (part["width"], part["steps"], part["counts"]) == (1, [*range(7_750, 7_801)], [1] * 51)
    assert part["min"] == part["max"] == part["mean"] == part["last"]
    assert part["last"][27] == 9.0
    assert part["last_step"] == 20_000


def test_values_that_are_not_finite_are_named(client: TestClient, sqlite_engine: Engine, runs: tuple[int, int]) -> None:
    store(sqlite_engine, 1, {0: 0.5, 1: math.nan, 2: math.inf, 3: -math.inf, 4: 0.25})
    found = curve(client, 1)
    assert found["last"] == [0.5, None, None, None, 0.25]
    assert (found["nan"], found["infinity"], found["minus_infinity"]) == ([1], [2], [3])
    joint = curve(client, 1, buckets=1)
    assert (joint["steps"], joint["min"], joint["max"], joint["mean"]) == ([0], [0.25], [0.5], [0.375])
    assert (joint["nan"], joint["infinity"], joint["minus_infinity"]) == ([0], [0], [0])


def test_curves_of_several_runs_have_one_grid(client: TestClient, sqlite_engine: Engine, runs: tuple[int, int]) -> None:
    for run_id, steps in zip(runs, (10_000, 30_000), strict=True):
        store(sqlite_engine, run_id, dict.fromkeys(range(steps), float(run_id)))
    answer = client.get("/api/v1/experiments/1/curves", params={"buckets": 200}).json()
    assert [(found["run_id"], found["width"], found["last"][-1]) for found in answer["curves"]] == [
        (1, 160, 1.0),
        (2, 160, 2.0),
    ]
    (other,) = client.get("/api/v1/experiments/1/curves", params={"run": 2, "buckets": 200}).json()["curves"]
    assert other["run_id"] == 2


def test_a_curve_that_grows_is_asked_for_from_its_last_bucket_on(
    client: TestClient, sqlite_engine: Engine, runs: tuple[int, int]
) -> None:
    store(sqlite_engine, 1, dict.fromkeys(range(1, 5_001), 1.0))
    store(sqlite_engine, 2, dict.fromkeys(range(1, 5_001), 1.0))
    first = curve(client, 1, buckets=100)
    store(sqlite_engine, 1, dict.fromkeys(range(5_001, 5_011), 2.0))
    known = first["steps"][-1]
    answer = client.get(
        "/api/v1/experiments/1/curves", params={"buckets": 100, "after": [f"1:{known - 1}", "2:5000"]}
    ).json()
    (grown,) = answer["curves"]
    assert (grown["run_id"], grown["steps"]) == (1, [*range(known, 5_011)])
    assert first["counts"][-1] + 10 == sum(grown["counts"])


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    "wrong", [{"from": -1}, {"to": 2**31}, {"buckets": 0}, {"buckets": 4_001}, {"name": [""]}, {"columns": 9}], ids=str
)
def test_a_wrong_range_is_refused(client: TestClient, runs: tuple[int, int], wrong: dict[str, Any]) -> None:
    assert client.get("/api/v1/runs/1/curves", params=wrong).status_code == 422


def test_a_range_behind_the_curve_and_an_unknown_run(
    client: TestClient, sqlite_engine: Engine, runs: tuple[int, int]
) -> None:
    store(sqlite_engine, 1, {1: 0.5})
    assert client.get("/api/v1/runs/1/curves", params={"from": 2}).json() == {"series": {}}
    assert client.get("/api/v1/runs/3/curves").status_code == 404
    assert client.get("/api/v1/experiments/3/curves").status_code == 404


@pytest.mark.ring("all")
def test_the_python_client_reads_curves(client: TestClient, sqlite_engine: Engine, runs: tuple[int, int]) -> None:
    store(sqlite_engine, 1, {step: float(step) for step in range(1, 3_001)})

    def answer(request: httpx.Request) -> httpx.Response:
        found = client.get(request.url.raw_path.decode())
        return httpx.Response(found.status_code, content=found.content)

    with Client("http://service", TOKEN, transport=httpx.MockTransport(answer)) as bigbatch:
        found = bigbatch.run_curves(1, [LOSS], first=1_000, last=1_999, buckets=10)[LOSS]
        assert (found.width, found.min[0], found.max[-1]) == (128, 896.0, 2047.0)
        (same,) = bigbatch.experiment_curves(1, LOSS, [1], first=1_000, last=1_999, buckets=10)
        assert (same.run_id, same.mean) == (1, found.mean)


GPUS = "resources: {kind: slurm, nodes: 2, ranks_per_node: 2, gpus_per_rank: 4}"


def test_curves_have_the_devices_of_their_runs_and_the_steps_of_restarts(
    client: TestClient, sqlite_engine: Engine
) -> None:
    text = TWO_RUNS.replace("resources: {kind: local, ranks_per_node: 4}", GPUS)
    assert post(client, text, force=True).status_code == 201
    for run_id in (1, 2):
        store(sqlite_engine, run_id, {1: 2.0, 2: 1.5})
    with transaction(sqlite_engine) as db:
        for attempt, step in ((3, 1), (2, 2)):
            db.add(Restart(run_id=2, attempt=attempt, step=step, lost_steps=1, at=now()))
    overlay = client.get("/api/v1/experiments/1/curves", params={"name": LOSS}).json()["curves"]
    compared = client.get("/api/v1/runs/curves", params={"name": LOSS, "run": [2, 1]}).json()["curves"]
    facts = [{key: one[key] for key in ("run_id", "devices", "restarts")} for one in overlay]
    expected = [{"run_id": 1, "devices": 16, "restarts": []}, {"run_id": 2, "devices": 16, "restarts": [1, 2]}]
    assert facts == expected
    assert [(one["run_id"], one["devices"], one["restarts"]) for one in compared] == [(2, 16, [1, 2]), (1, 16, [])]
    assert client.get("/api/v1/runs/1").json()["devices"] == 16
