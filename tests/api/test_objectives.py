"""The objective of an experiment by REST: views, best runs, the answer and changes, on both databases."""

from collections.abc import Sequence
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, event, select

from contract.folder.events import Points
from contract.lifecycle.state import State
from store.metrics import points
from store.session import transaction
from store.tables.base import now
from store.tables.runs import Run
from tests.testing.api import post
from tests.testing.stored_runs import TO_RUNNING, move

PROGRAM = "name: own\nbase: {kind: program, command: python train.py}\naxes: {parameters.lr: [0.1, 0.3]}\n"
LOSSES = ([0.9, 0.2, 0.4], [0.8, 0.3, 0.35])  # of two runs


def seed(client: TestClient, engine: Engine, text: str = "", columns: Sequence[Sequence[float]] = LOSSES) -> int:
    """Store an experiment whose runs are done and have reported a loss; its accuracies fall as the loss does."""
    made = post(client, PROGRAM + text)
    assert made.status_code == 201, made.text
    with transaction(engine) as db:
        for run_id, losses in zip(made.json()["runs"], columns, strict=True):
            values = [{"val_loss": one, "val_acc": one, "quux": one} for one in losses]
            events = [Points(attempt=1, at=0.0, step=n, values=dict(v)) for n, v in enumerate(values, 1)]
            points.put(db, run_id, events)
            run = db.get_one(Run, run_id)
            run.latest = dict(values[-1])
            for state in (*TO_RUNNING, State.DONE):
                move(db, run, state)
    return int(made.json()["id"])


def views(client: TestClient, number: int) -> tuple[dict[str, Any], list[float | None], int]:
    """Return the experiment, the values of its runs, and the id of its first run."""
    found: dict[str, Any] = client.get(f"/api/v1/experiments/{number}").json()
    runs = client.get(f"/api/v1/experiments/{number}/runs").json()["items"]
    first = runs[0]["id"]
    (listed,) = (one for one in client.get("/api/v1/experiments").json()["items"] if one["id"] == number)
    assert {name: listed[name] for name in ("objective", "best")} == {
        name: found[name] for name in ("objective", "best")
    }
    everywhere = {run["id"]: run["objective_value"] for run in client.get("/api/v1/runs").json()["items"]}
    values = [run["objective_value"] for run in runs]
    assert [everywhere[run["id"]] for run in runs] == values
    assert client.get(f"/api/v1/runs/{first}").json()["objective_value"] == values[0]
    return found, values, first


@pytest.mark.parametrize(
    ("objective", "values", "best"),
    [
        ("{metric: val_loss, goal: min}", [0.2, 0.3], 0),
        ("{metric: val_loss}", [0.2, 0.3], 0),
        ("{metric: val_loss, value: last}", [0.4, 0.35], 1),
        ("{metric: quux, goal: max}", [0.9, 0.8], 0),
        ("{metric: absent_loss}", [None, None], None),
    ],
)
def test_views_have_the_objective_its_best_run_and_the_values_of_runs(
    both: TestClient, engine: Engine, objective: str, values: list[float | None], best: int | None
) -> None:
    found, shown, first = views(both, seed(both, engine, f"objective: {objective}\n"))
    assert shown == values
    assert found["best"] == (None if best is None else {"value": values[best], "run": first + best})
    assert found["objective"]["value"] == ("last" if "last" in objective else "best")
    assert found["objective"]["goal"] in ("min", "max")


def test_a_program_without_an_objective_has_that_of_the_metric_that_tells_most(
    both: TestClient, engine: Engine
) -> None:
    found, values, first = views(both, seed(both, engine))
    assert found["objective"] == {"metric": "val_acc", "goal": "max", "value": "best"}
    assert (values, found["best"]) == ([0.9, 0.8], {"value": 0.9, "run": first})


def test_of_equal_values_the_first_run_is_the_best(both: TestClient, engine: Engine) -> None:
    for text in ("objective: {metric: val_loss}\n", ""):
        found, _, first = views(both, seed(both, engine, text, [[0.5], [0.5]]))
        assert found["best"] == {"value": 0.5, "run": first}


def test_the_answer_asks_for_the_objective(both: TestClient, engine: Engine) -> None:
    path = f"/api/v1/experiments/{seed(both, engine, 'objective: {metric: val_loss, goal: min}')}/answer"
    answer = both.get(path).json()
    assert (answer["figure"]["name"], answer["figure"]["higher_is_better"]) == ("best(val_loss)", False)
    assert answer["sentence"].startswith("The best val_loss is lowest at lr 0.1: 0.2")
    other = both.get(f"/api/v1/experiments/{seed(both, engine, 'objective: {metric: quux, goal: max}')}/answer").json()
    assert [group["figure"]["mean"] for group in other["groups"]] == [0.9, 0.8]
    last = both.get(
        f"/api/v1/experiments/{seed(both, engine, 'objective: {metric: val_loss, value: last}')}/answer"
    ).json()
    assert (last["figure"]["name"], [group["figure"]["mean"] for group in last["groups"]]) == ("val_loss", [0.4, 0.35])


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("objective: {metric: quux}", "objective.goal", "write min or max"),
        ("objective: {goal: min}", "objective.metric", "required field"),
        ("objective: {metric: loss, goal: lower}", "objective.goal", "'min' or 'max'"),
    ],
)
def test_a_wrong_objective_is_refused_with_the_field(client: TestClient, text: str, path: str, words: str) -> None:
    refused = post(client, PROGRAM + text)
    assert refused.status_code == 422
    (issue,) = refused.json()["errors"]
    assert (issue["path"], words in issue["message"]) == (path, True), issue


@pytest.mark.parametrize("objective", ["objective: {metric: val_loss}\n", ""])
def test_a_run_that_a_person_left_out_is_not_the_best_one(both: TestClient, engine: Engine, objective: str) -> None:
    number = seed(both, engine, objective)
    first = both.get(f"/api/v1/experiments/{number}").json()["best"]["run"]
    both.patch(f"/api/v1/runs/{first}", json={"left_out": "wrong data"})
    assert both.get(f"/api/v1/experiments/{number}").json()["best"]["run"] == first + 1
    both.patch(f"/api/v1/runs/{first + 1}", json={"left_out": "wrong data"})
    assert both.get(f"/api/v1/experiments/{number}").json()["best"] is None


def test_without_the_first_run_the_metrics_of_the_next_one_decide(both: TestClient, engine: Engine) -> None:
    number = seed(both, engine)
    first = both.get(f"/api/v1/experiments/{number}").json()["best"]["run"]
    with transaction(engine) as db:
        db.get_one(Run, first).deleted_at = now()
    found = both.get(f"/api/v1/experiments/{number}").json()
    assert (found["objective"]["metric"], found["best"]) == ("val_acc", {"value": 0.8, "run": first + 1})


def test_a_stored_experiment_gets_another_objective(both: TestClient, engine: Engine) -> None:
    number = seed(both, engine)
    for objective, values in (
        ({"metric": "val_loss", "value": "last"}, [0.4, 0.35]),
        ({"metric": "quux", "goal": "min"}, [0.2, 0.3]),
    ):
        changed = both.patch(f"/api/v1/experiments/{number}", json={"objective": objective})
        assert changed.status_code == 200, changed.text
        assert views(both, number)[:2] == (changed.json(), values)
    assert changed.json()["spec"]["objective"] is None
    refused = both.patch(f"/api/v1/experiments/{number}", json={"objective": {"metric": "quux"}})
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "objective.goal")


def test_points_that_come_later_change_the_value_of_a_changed_objective(both: TestClient, engine: Engine) -> None:
    number = seed(both, engine)
    both.patch(f"/api/v1/experiments/{number}", json={"objective": {"metric": "val_loss"}})
    with transaction(engine) as db:
        run_id = db.scalars(select(Run.id).where(Run.experiment_id == number, Run.number == 1)).one()
        points.put(db, run_id, [Points(attempt=1, at=0.0, step=9, values={"val_loss": 0.125, "val_acc": 2.0})])
    found, values, _ = views(both, number)
    assert (values, found["best"]) == ([0.2, 0.125], {"value": 0.125, "run": run_id})


def test_the_objective_of_a_search_stays(client: TestClient) -> None:
    search = "search: {space: {parameters.lr: {kind: uniform, low: 0, high: 1}}, sampler: {kind: random}, trials: 2, "
    text = PROGRAM.split("axes")[0] + search + "metric: val_loss, value: last}\n"
    made = post(client, text)
    assert made.status_code == 201, made.text
    path = f"/api/v1/experiments/{made.json()['id']}"
    assert client.get(path).json()["objective"] == {"metric": "val_loss", "goal": "min", "value": "last"}
    refused = client.patch(path, json={"objective": {"metric": "val_acc"}})
    assert (refused.status_code, refused.json()["errors"][0]["path"]) == (422, "objective")


@pytest.mark.parametrize("text", ["", "objective: {metric: val_loss}\n"])
def test_a_list_asks_as_much_for_many_experiments_as_for_one(
    client: TestClient, sqlite_engine: Engine, text: str
) -> None:
    statements = list[str]()

    def count(*args: Any) -> None:
        statements.append(args[2])

    counts = []
    event.listen(sqlite_engine, "before_cursor_execute", count)
    try:
        for new in (1, 4):
            for _ in range(new):
                seed(client, sqlite_engine, text)
            statements.clear()
            for path in ("/api/v1/experiments", "/api/v1/runs"):
                assert client.get(path).status_code == 200
            counts.append(len(statements))
    finally:
        event.remove(sqlite_engine, "before_cursor_execute", count)
    assert counts[0] == counts[1]
