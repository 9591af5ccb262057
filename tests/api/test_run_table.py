"""Tests of the table of runs: its query language, orders, columns and pages, alike on both databases."""

from datetime import timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, update

from contract.folder.events import Points
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.reason import FreeText, RetriesExhausted, RunFailed
from contract.lifecycle.state import State
from contract.spec.any_run import read_run
from contract.spec.run import RunSpec
from store.lifecycle.going_on import extend
from store.metrics import points
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.api import post
from tests.testing.stored_runs import TO_RUNNING, end_attempt, move

GRID = """
name: torus sweep
owner: ada
tags: [baseline]
base:
  optimizer: {kind: sgd, momentum: 0.9}
  schedule: {kind: polynomial, rate: 8.0}
  batch: 64
  epochs: 3
axes:
  batch: [64, 128, 256]
  optimizer: [{kind: lars}, {kind: sgd, momentum: 0.5}]
"""
# runs 1 (SPEC, of the fixture `both`), then 2 to 7: batch 64 lars, 64 sgd, 128 lars, 128 sgd, 256 lars, 256 sgd
ALL = [7, 6, 5, 4, 3, 2, 1]
LOSSES: dict[int, list[float | None]] = {2: [3.0, 1.0, 2.0], 3: [5.0, 4.0], 4: [None], 5: [0.5]}


@pytest.fixture
def table(both: TestClient, engine: Engine) -> TestClient:
    """Seven runs: 5 runs, 6 failed, the others are queued; four of them have a loss, two an accuracy."""
    assert post(both, GRID).status_code == 201
    assert both.patch("/api/v1/runs/3", json={"add_tags": ["lars", "odd-tag"]}).status_code == 200
    with transaction(engine) as db:
        for run_id, losses in LOSSES.items():
            measured = [Points(attempt=1, at=0.0, step=step, values={"loss": x}) for step, x in enumerate(losses, 1)]
            points.put(db, run_id, measured)
        for run_id, accuracy in ((2, 0.75), (3, 0.5)):
            points.put(db, run_id, [Points(attempt=1, at=0.0, step=9, values={"heldout_accuracy": accuracy})])
        for run_id in (5, 6):
            for state in TO_RUNNING:
                move(db, db.get_one(Run, run_id), state)
        end_attempt(db, db.get_one(Run, 6), ExitCause.OUT_OF_MEMORY, None)
        move(db, db.get_one(Run, 6), State.FAILED)
        began = {"started_at": now() - timedelta(hours=3), "ran_s": 7200.0}
        db.execute(update(Run).where(Run.id == 6).values(**began))
    return both


def rows(client: TestClient, **asked: Any) -> Any:
    answer = client.get("/api/v1/runs/table", params=asked)
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(client: TestClient, where: str, **asked: Any) -> list[int]:
    found = rows(client, where=where, **asked)
    assert found["total"] == len(found["rows"])
    return [row["id"] for row in found["rows"]]


FOUND: list[tuple[str, list[int]]] = [
    ("", ALL),
    ("batch > 64", [7, 6, 5, 4]),
    ("batch in (64, 256) and optimizer = lars", [6, 2, 1]),
    ("optimizer.kind = lars and not batch = 64", [6, 4]),
    ("momentum < 0.6", [7, 5, 3]),
    ("optimizer.momentum >= 0.9", [6, 4, 2, 1]),
    ("rate = 8 and name ~ TORUS", [7, 6, 5, 4, 3, 2]),
    ("state = failed", [6]),
    ("state != queued and state not in (failed)", [5]),
    ("cause = out_of_memory", [6]),
    ("cause = null and batch = 256", [7]),
    ("tag = lars", [3]),
    ("tag = baseline and tag != 'odd-tag' and batch = 64", [2]),
    ("tag ~ ODD or experiment = 1", [3, 1]),
    ("tag = null", [1]),
    ("owner = ada and batch <= 64", [3, 2]),
    ("owner != ada", [1]),
    ("owner = null", [1]),
    ("loss < 3", [5, 2]),
    ("last(loss) = 2", [2]),
    ("best(loss) = 1 or max(loss) = 5", [3, 2]),
    ("mean(loss) = 2", [2]),
    ("not loss > 3", [7, 6, 5, 4, 2, 1]),
    ("loss = null and batch = 256", [7, 6]),
    ("loss = nan", [4]),
    ("loss != NaN and batch = 128", [5]),
    ("last(loss) in (inf, nan, 2)", [4, 2]),
    ("loss = -inf or loss = +inf", []),
    ("diverged = true", [4]),
    ("diverged = false and batch = 128", [5]),
    ("best(heldout_accuracy) > 70%", [2]),
    ("duration > 1h30m and duration < 2.5h", [6]),
    ("started < -2h", [6]),
    ("created > -1h and created < 2190-01-01 and id < 3", [2, 1]),
    ("ended = null and batch = 256", [7]),
    ("'torus'", [7, 6, 5, 4, 3, 2]),
    ("not 'torus'", [1]),
    ("'SGD'", [7, 5, 3, 1]),
    ("not 'sgd'", [6, 4, 2]),
    ("'Baseline'", [7, 6, 5, 4, 3, 2]),
    ("'ODD-t'", [3]),
    ("'POLYNOM' and id > 1", [7, 6, 5, 4, 3, 2]),
    ("'%' or 's_d' or 'null' or '/'", []),
    ("(id = 1 or id = 2) and (number = 0)", [2, 1]),
    ("id=3", [3]),
    ("partition = null AND partition != cpu and id < 3", [2, 1]),
    ("world = 4", [1]),
]
REFUSED: list[tuple[str, tuple[int, int], str]] = [
    ("batch >", (7, 7), "expected a value at the end of the query"),
    ("batch > 3 batch", (10, 15), "expected and, or or the end, not 'batch'"),
    ("(batch > 3", (10, 10), "expected ) at the end of the query"),
    ("bacth = 3", (0, 5), "no run has a field 'bacth'; did you mean 'batch'?"),
    ("batch = 1 and state = fialed", (22, 28), "did you mean 'failed'?"),
    ("batch = 'x", (8, 10), "the quote ' is not closed"),
    ("best(lss) > 1", (0, 9), "no run has the metric 'lss'; did you mean 'loss'?"),
    ("worst(loss) > 1", (0, 11), "expected last, best, min, max or mean, not 'worst'"),
    ("id > lars", (5, 9), "expected a number, not 'lars'"),
    ("created > yesterday", (10, 19), "expected a date"),
    ("duration > 3x", (11, 13), "expected a duration"),
    ("id ~ 3", (5, 6), "~ compares texts"),
    ("state < failed", (8, 14), "expected = or != or in"),
    ("loss < null", (7, 11), "= and != only"),
    ("not " * 60 + "id = 1", (0, 246), "at most 50"),
]
SORTED: list[tuple[str, list[int]]] = [
    ("id", ALL[::-1]),
    ("batch, -id", [3, 2, 1, 5, 4, 7, 6]),
    ("-batch,optimizer,id", [6, 7, 4, 5, 1, 2, 3]),
    ("-best(loss)", [3, 2, 5, 7, 6, 4, 1]),
    ("mean(loss)", [5, 2, 3, 7, 6, 4, 1]),
    ("-best(heldout_accuracy)", [2, 3, 7, 6, 5, 4, 1]),
    ("state,id", [6, 1, 2, 3, 4, 7, 5]),
    ("name,id", [1, 2, 3, 4, 5, 6, 7]),
    ("-cause", [6, 7, 5, 4, 3, 2, 1]),
    ("tag,-number,id", [7, 6, 5, 4, 3, 2, 1]),
    ("-duration", [6, 5, 7, 4, 3, 2, 1]),
]


@pytest.mark.ring("all")
def test_a_query_finds_its_runs(table: TestClient) -> None:
    assert [(where, ids(table, where)) for where, _ in FOUND] == FOUND


@pytest.mark.ring("all")
def test_a_text_alone_is_looked_for_in_labels_and_in_the_texts_of_the_reason(table: TestClient, engine: Engine) -> None:
    labels = {"description": "What do Rings cost?", "notes": "see 50% of Ada's paper"}
    assert table.patch("/api/v1/experiments/1", json=labels).status_code == 200
    assert table.patch("/api/v1/runs/4", json={"notes": "An ODD curve"}).status_code == 200
    failed = RetriesExhausted(after=RunFailed(message='Loss is "NaN" in größe'), cause=ExitCause.FAILURE, retries=3)
    with transaction(engine) as db:
        for run_id, reason in ((6, failed), (7, FreeText(text="a\0zero"))):
            db.execute(update(Run).where(Run.id == run_id).values(reason=reason))
    wanted = {"rings": [1], "50%": [1], "5%": [], "odd": [4, 3], 'IS "nan"': [6], "größe": [6]}
    for text, expected in wanted.items():
        assert [row["id"] for row in rows(table, q=text)["rows"]] == expected, text
    assert (ids(table, "'ZERO'"), ids(table, "'message'"), ids(table, "not 'loss is' and id > 5")) == ([7], [], [7])


def test_a_bad_query_is_refused_with_its_place_and_what_was_expected(table: TestClient) -> None:
    for where, place, message in REFUSED:
        answer = table.get("/api/v1/runs/table", params={"where": where})
        assert answer.status_code == 422, where
        (issue,) = answer.json()["errors"]
        assert (issue["path"], issue["start"], issue["end"]) == ("where", *place), (where, issue)
        assert message in issue["message"], where


@pytest.mark.ring("all")
def test_any_field_sorts_all_runs_and_runs_without_a_value_come_last(table: TestClient) -> None:
    assert [(sort, ids(table, "", sort=sort)) for sort, _ in SORTED] == SORTED
    for sort, expected in SORTED[:6]:
        pages = [rows(table, sort=sort, offset=offset, limit=2) for offset in range(0, 7, 2)]
        assert [row["id"] for page in pages for row in page["rows"]] == expected


def test_pages_behind_their_last_rows_have_each_run_once_while_runs_leave_the_table(table: TestClient) -> None:
    for sort, expected in [("", ALL), *SORTED]:
        seen: list[int] = []
        after: dict[str, str] = {}
        while True:
            page = rows(table, sort=sort, limit=2, **after)
            assert page["total"] == 7 - len(seen)
            seen += [row["id"] for row in page["rows"]]
            for row in page["rows"]:
                assert table.patch(f"/api/v1/runs/{row['id']}", json={"archived": True}).status_code == 200
            if page["next"] is None:
                break
            after = {"after": page["next"]}
        assert seen == expected, sort
        for run_id in seen:
            table.patch(f"/api/v1/runs/{run_id}", json={"archived": False})


def test_a_place_that_is_none_in_the_order_is_refused(table: TestClient) -> None:
    for after in (
        "",
        "7",
        "[7]",
        "[7,1,1]",
        '["7",1]',
        '[7,"x"]',
        "[7,NaN]",
        "[7,[1]]",
        "[7,true]",
        "[-1,1]",
        "[1e9,1]",
    ):
        answer = table.get("/api/v1/runs/table", params={"sort": "step", "after": after})
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "after"), after
    assert table.get("/api/v1/runs/table", params={"sort": "-created", "after": '[7,"soon"]'}).status_code == 422
    assert [row["id"] for row in rows(table, sort="step", after="[3,0]")["rows"]] == [2, 1]


def test_a_page_has_the_requested_columns_and_the_number_of_all_runs(table: TestClient) -> None:
    column = ["name", "batch", "optimizer", "optimizer.momentum", "max(loss)", "tag", "cause", "duration", "progress"]
    found = rows(table, where="batch >= 64", column=column, sort="id", limit=3, offset=2)
    assert (found["total"], found["offset"], len(found["rows"])) == (7, 2, 3)
    assert [one["kind"] for one in found["columns"]][:5] == ["text", "any", "any", "any", "number"]
    third = found["rows"][0]
    assert (third["id"], third["values"]["batch"], third["state"]) == (3, 64, "queued")
    assert third["cells"] == ["torus sweep", 64, "sgd", 0.5, 5, "baseline, lars, odd-tag", None, None, 0]


def test_a_page_within_an_experiment_has_its_archived_runs_too(table: TestClient) -> None:
    assert table.patch("/api/v1/runs/4", json={"archived": True}).status_code == 200
    assert 4 not in ids(table, "")
    assert ids(table, "", archived=True) == [4]
    assert ids(table, "", experiment=2, sort="number") == [2, 3, 4, 5, 6, 7]
    empty = rows(table, experiment=2, column=["last(later)", "clip_norm"], sort="-best(later)")
    assert (empty["total"], empty["rows"][0]["cells"]) == (6, [None, None])


def test_a_wrong_order_or_column_is_refused(table: TestClient) -> None:
    for asked, path in (({"sort": "batch,"}, "sort"), ({"sort": "-bathc"}, "sort"), ({"column": "a b"}, "column")):
        answer = table.get("/api/v1/runs/table", params=asked)
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, path)


def test_unknown_columns_are_left_out_where_the_request_says_so(table: TestClient) -> None:
    asked = {"column": ["batch", "bathc", "a b", "best(later)", "last(loss)"], "where": "id = 2"}
    assert table.get("/api/v1/runs/table", params=asked).status_code == 422
    found = rows(table, **asked, skip_unknown=True)
    assert [column["name"] for column in found["columns"]] == ["batch", "last(loss)"]
    assert len(found["rows"][0]["cells"]) == 2


@pytest.mark.ring("all")
def test_the_names_and_values_of_fields_are_those_of_stored_runs(table: TestClient) -> None:
    found = {one["name"]: one for one in table.get("/api/v1/runs/names").json()["names"]}
    assert {"state", "tag", "partition", "optimizer.momentum", "loss"} <= found.keys()
    assert found["loss"]["is_metric"]
    values = {name: table.get("/api/v1/runs/values", params={"name": name}).json()["values"] for name in found}
    assert values["owner"] == ["ada"]
    assert values["batch"] == [64, 128, 256]
    assert values["optimizer.kind"] == ["lars", "sgd"]
    assert values["tag"] == ["baseline", "lars", "odd-tag"]
    assert "failed" in values["state"]
    assert values["loss"] == values["id"] == []


def test_the_fields_of_added_runs_and_of_longer_runs_are_found(table: TestClient, engine: Engine) -> None:
    added = table.post("/api/v1/experiments/2/points", json={"points": [{"batch": 512, "seed": 3}]})
    assert added.status_code == 200, added.text
    assert ids(table, "batch = 512 and seed = 3") == [8]
    with transaction(engine) as db:
        run = db.get_one(Run, 1)
        for state in (*TO_RUNNING, State.DONE):
            move(db, run, state)
        spec = read_run(run.spec)
        assert isinstance(spec, RunSpec)
        extend(db, run, spec.model_copy(update={"epochs": 6}), 6, by=None)
    assert (ids(table, "epochs = 6"), ids(table, "epochs = 3 and id = 1")) == ([1], [])
