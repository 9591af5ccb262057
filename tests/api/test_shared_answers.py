"""Answers that several pages ask for at once are computed once, and never when the data has changed."""

import threading

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from api.points import curves
from api.points.shared_answers import MOST_ANSWERS, MOST_BYTES, SharedAnswers
from contract.folder.events import Points
from contract.lifecycle.state import State
from store.metrics import points
from store.session import engine_for, transaction
from store.tables.runs import Run
from tests.testing.stored_runs import TO_RUNNING, move

PATH = "/api/v1/experiments/1/curves"


def test_of_many_threads_one_makes_the_answer() -> None:
    shared, made = SharedAnswers(), list[int]()
    may_go, results = threading.Event(), list[str]()

    def make() -> str:
        made.append(1)
        assert may_go.wait(60)
        return "answer"

    threads = [threading.Thread(target=lambda: results.append(shared.get("key", make))) for _ in range(20)]
    for thread in threads:
        thread.start()
    may_go.set()
    for thread in threads:
        thread.join()
    assert (len(made), results) == (1, ["answer"] * 20)


def test_a_failure_is_not_stored() -> None:
    shared = SharedAnswers()

    def fail() -> str:
        raise OSError("no database")

    with pytest.raises(OSError, match="no database"):
        shared.get("key", fail)
    assert shared.get("key", lambda: "answer") == "answer"


def test_few_answers_are_stored_and_no_large_one() -> None:
    shared = SharedAnswers()
    for number in range(MOST_ANSWERS + 1):
        shared.get(number, lambda: "old")
    assert shared.get(0, lambda: "new") == "new"
    assert shared.get(MOST_ANSWERS, lambda: "new") == "old"
    shared.get("large", lambda: "x" * (MOST_BYTES + 1))
    assert shared.get("large", lambda: "made again") == "made again"


def test_the_same_curves_are_read_once_until_a_point_arrives(
    both: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, read = list[int](), curves._read
    monkeypatch.setattr(curves, "_read", lambda *of: reads.append(1) or read(*of))
    stored = engine_for(engine.url.render_as_string(hide_password=False))

    def put(step: int) -> None:
        with transaction(stored) as db:
            points.put(db, 1, [Points(attempt=1, at=0.0, step=step, values={"loss": 1.0})])

    put(1)
    answers = [both.get(PATH, params={"buckets": 10}).json() for _ in range(3)]
    assert (len(reads), answers[0]["curves"][0]["steps"]) == (1, [1])
    assert answers[0] == answers[2]
    both.get(PATH, params={"buckets": 20})
    assert len(reads) == 2, "another question has another answer"
    put(2)
    assert both.get(PATH, params={"buckets": 10}).json()["curves"][0]["steps"] == [1, 2]


def test_an_answer_is_computed_again_when_a_run_ends_is_deleted_and_restored(both: TestClient, engine: Engine) -> None:
    stored = engine_for(engine.url.render_as_string(hide_password=False))

    def runs_of_answer() -> list[int]:
        answer = both.get("/api/v1/experiments/1/answer").json()
        return [run for group in answer["groups"] for run in group["runs"]]

    def unfinished() -> int:
        return int(both.get("/api/v1/experiments/1/answer").json()["unfinished"])

    assert (runs_of_answer(), unfinished()) == ([1], 1)
    with transaction(stored) as db:
        for state in (*TO_RUNNING, State.DONE):
            move(db, db.get_one(Run, 1), state)
    assert unfinished() == 0
    confirm = both.get("/api/v1/runs/1/size").json()["confirm"]
    assert both.delete(f"/api/v1/runs/1?confirm={confirm}").status_code == 200
    assert runs_of_answer() == []
    assert both.post("/api/v1/runs/1/restore").status_code == 200
    assert runs_of_answer() == [1]
