"""Points by HTTP: numbered batches, stored once and as a whole, of the runs that may have them."""

import json
import math
import threading
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select

from api.points.batches import MAX_BYTES
from contract.api.incoming.points_batch import MAX_BATCH_POINTS, MAX_WRITERS
from contract.lifecycle.state import State
from store.metrics import curves, retention
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.api import post
from tests.testing.stored_runs import TO_RUNNING, move

PROGRAM = "name: own\nbase: {kind: program, command: python train.py}\n"
RUN = 2  # the fixture `both` has run 1, of the engine


@pytest.fixture
def program(both: TestClient) -> TestClient:
    assert post(both, PROGRAM, force=True).status_code == 201
    return both


def send(client: TestClient, sequence: int, run_id: int = RUN, writer: str = "", **series: Any) -> Any:
    lists = {name: {"steps": [*points], "values": [*points.values()]} for name, points in series.items()}
    body = {"sequence": sequence, "writer": writer, "series": lists}
    return client.post(
        f"/api/v1/runs/{run_id}/points", content=json.dumps(body), headers={"content-type": "application/json"}
    )


def stored(engine: Engine, run_id: int = RUN) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for part in curves.in_parts(engine, run_id):
        found.setdefault(part.name, {}).update(
            zip(part.points.steps.tolist(), part.points.values.tolist(), strict=True)
        )
    return found


def test_a_batch_is_stored_once_however_often_it_is_sent(program: TestClient, engine: Engine) -> None:
    first = {"loss": {1: 0.5, 2: 0.25}, "accuracy": {2: 0.75}}
    assert send(program, 1, **first).json() == {"stored": True, "next": 2}
    assert send(program, 2, loss={3: 0.125}).json() == {"stored": True, "next": 3}
    for repeated in ({"loss": {1: 9.0}}, {"loss": {}}, first):
        assert send(program, 1, **repeated).json() == {"stored": False, "next": 3}
    assert stored(engine) == {"accuracy": {2: 0.75}, "loss": {1: 0.5, 2: 0.25, 3: 0.125}}
    run = program.get(f"/api/v1/runs/{RUN}").json()
    assert (run["latest"], run["step"], run["state"]) == ({"loss": 0.125, "accuracy": 0.75}, 3, "queued")


def test_a_batch_of_earlier_steps_changes_no_newest_value(program: TestClient) -> None:
    send(program, 1, loss={5: 5.0}, lr={1: 0.5})
    send(program, 2, loss={3: 99.0}, lr={4: 0.25, 2: 0.75})
    run = program.get(f"/api/v1/runs/{RUN}").json()
    assert (run["latest"], run["step"]) == ({"loss": 5.0, "lr": 0.25}, 5)


def test_a_gap_is_refused_with_the_expected_number_and_stores_nothing(program: TestClient, engine: Engine) -> None:
    assert send(program, 2, loss={1: 1.0}).status_code == 409
    assert send(program, 1, loss={1: 1.0}).status_code == 200
    refused = send(program, 7, loss={9: 9.0}, other={1: 1.0})
    assert refused.status_code == 409
    (issue,) = refused.json()["errors"]
    assert (issue["path"], issue["message"][:10]) == ("sequence", "expected 2")
    assert stored(engine) == {"loss": {1: 1.0}}
    assert program.get(f"/api/v1/runs/{RUN}/writers").json() == {"next": {"": 2}}


def test_each_writer_has_numbers_of_its_own(program: TestClient, engine: Engine) -> None:
    assert send(program, 1, writer="rank-0", loss={1: 1.0}).json()["stored"]
    assert send(program, 1, writer="rank-1", loss={2: 2.0}).json()["stored"]
    assert send(program, 2, writer="rank-0", loss={2: 4.0}).json() == {"stored": True, "next": 3}
    assert stored(engine) == {"loss": {1: 1.0, 2: 4.0}}, "a later value of a step replaces the earlier one"
    assert program.get(f"/api/v1/runs/{RUN}/writers").json() == {"next": {"rank-0": 3, "rank-1": 2}}


@pytest.mark.ring("all")
def test_a_run_has_a_bounded_number_of_writers(program: TestClient) -> None:
    for number in range(MAX_WRITERS):
        assert send(program, 1, writer=str(number)).status_code == 200
    refused = send(program, 1, writer="one more")
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (409, "writer")
    assert send(program, 2, writer="7").status_code == 200


def test_values_that_are_not_finite_are_values(program: TestClient, engine: Engine) -> None:
    answer = send(program, 1, loss={1: math.nan, 2: "NaN", 3: None, 4: "-Infinity", 5: math.inf, 6: 1})
    assert answer.status_code == 200, answer.text
    values = stored(engine)["loss"]
    assert [repr(value) for value in values.values()] == ["nan", "nan", "nan", "-inf", "inf", "1.0"]
    assert send(program, 2, loss={7: math.nan}).status_code == 200
    assert program.get(f"/api/v1/runs/{RUN}").json()["latest"] == {"loss": None}


def test_one_of_several_equal_requests_at_once_stores_the_batch(program: TestClient, engine: Engine) -> None:
    """Forces the race: a client repeats a request while the first one is still being carried out."""
    answers: list[Any] = []
    barrier = threading.Barrier(4)

    def go() -> None:
        barrier.wait()
        answers.append(send(program, 1, loss={step: float(step) for step in range(2_000)}).json())

    threads = [threading.Thread(target=go) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer["stored"] for answer in answers) == [False, False, False, True]
    assert len(stored(engine)["loss"]) == 2_000


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("body", "status", "path"),
    [
        ({"sequence": 0, "series": {}}, 422, "sequence"),
        ({"sequence": "x", "series": {}}, 422, "sequence"),
        ({"series": {}}, 422, "sequence"),
        ({"sequence": 1}, 422, "series"),
        ({"sequence": 1, "series": {}, "state": "done"}, 422, "state"),
        ({"sequence": 1, "series": {"loss": {"steps": [1, 2], "values": [1.0]}}}, 422, "series.loss"),
        ({"sequence": 1, "series": {"loss": {"steps": [-1], "values": [1.0]}}}, 422, "series.loss.steps.0"),
        ({"sequence": 1, "series": {"loss": {"steps": [2**31], "values": [1.0]}}}, 422, "series.loss.steps.0"),
        ({"sequence": 1, "series": {"loss": {"steps": [1], "values": ["high"]}}}, 422, "series.loss.values.0"),
        ({"sequence": 1, "series": {"a\nb": {"steps": [], "values": []}}}, 422, "series.a"),
        ({"sequence": 1, "writer": "a\x00b", "series": {}}, 422, "writer"),
        ([1], 422, ""),
    ],
)
def test_a_wrong_batch_is_refused_at_its_field(
    program: TestClient, engine: Engine, body: Any, status: int, path: str
) -> None:
    answer = program.post(
        f"/api/v1/runs/{RUN}/points", content=json.dumps(body), headers={"content-type": "application/json"}
    )
    assert answer.status_code == status, answer.text
    assert answer.json()["errors"][0]["path"].startswith(path)
    assert stored(engine) == {}


def test_bodies_that_are_no_batch_are_refused(program: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/api/v1/runs/{RUN}/points"
    json_type = {"content-type": "application/json"}
    assert program.post(path, content=b"{", headers=json_type).json()["code"] == "malformed_document"
    assert program.post(path, content=b"", headers=json_type).json()["code"] == "malformed_document"
    assert program.post(path, content=b"a: 1", headers={"content-type": "application/yaml"}).status_code == 415
    assert program.post(path, content=b" " * (MAX_BYTES + 1), headers=json_type).status_code == 413
    many = dict.fromkeys(range(MAX_BATCH_POINTS + 1), 1.0)
    assert "200,001 points" in send(program, 1, loss=many).json()["errors"][0]["message"]


def test_only_runs_that_may_have_points_get_them(program: TestClient, engine: Engine) -> None:
    refused = send(program, 1, 1, loss={1: 1.0})
    assert (refused.status_code, "by the engine" in refused.json()["detail"]) == (409, True)
    assert send(program, 1, 77, loss={1: 1.0}).status_code == 404
    with transaction(engine) as db:
        run = db.get_one(Run, RUN)
        for state in (*TO_RUNNING, State.DONE):
            move(db, run, state)
    assert send(program, 1, loss={1: 1.0}).json()["stored"], "the last points may come after the end"
    with transaction(engine) as db:
        retention.remove_points(db, now(), 1_000)
        assert db.scalar(select(Run.points_removed_at).where(Run.id == RUN)) is not None
    assert send(program, 2, loss={2: 1.0}).status_code == 409
    assert program.get(f"/api/v1/runs/{RUN}").json()["state"] == "done"


def test_a_deleted_run_takes_no_points_and_leaves_no_writer(program: TestClient, engine: Engine) -> None:
    from store.lifecycle import deletion
    from store.tables.points import PointWriter

    assert send(program, 1, loss={1: 1.0}).status_code == 200
    assert post(program, PROGRAM, force=True).status_code == 201
    with transaction(engine) as db:
        run = db.get_one(Run, RUN)
        for state in (*TO_RUNNING, State.DONE):
            move(db, run, state)
        assert deletion.mark_runs(db, Run.id == RUN) == 1
    assert send(program, 2, loss={2: 1.0}).status_code == 404
    with transaction(engine) as db:
        assert deletion.remove_rows(db, RUN, 1_000)
    with snapshot(engine) as db:
        assert db.scalars(select(PointWriter)).all() == []
