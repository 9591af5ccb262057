"""Test what a list shows of experiments of programs: the series that they report, and the number of their steps."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, func, select

from contract.folder.events import Points
from contract.metric_direction import key_metric
from store.metrics import points
from store.session import transaction
from store.tables.runs import Run
from tests.testing.api import post


def test_an_experiment_names_the_series_of_its_first_run_and_the_steps_of_all(both: TestClient, engine: Engine) -> None:
    base = "{kind: program, command: python train.py, steps: STEPS}"
    for steps in (0, 40):
        program = f"name: own\nbase: {base.replace('STEPS', str(steps))}\naxes: {{parameters.seed: [0, 1]}}\n"
        assert post(both, program).status_code == 201
    with transaction(engine) as db:
        run = db.get_one(Run, 2)  # the first of experiment 2
        run.step, run.latest = 7, {"val/accuracy": 0.5, "loss": 2.0, "loss/rank-1": 2.5}
    items = both.get("/api/v1/experiments").json()["items"][:2]
    found = [(item["steps"], item["progress"], item["series"]) for item in items]
    assert found == [(80, 0.0, []), (0, 0.0, ["val/accuracy", "loss"])]
    assert both.get("/api/v1/experiments/2").json()["series"] == ["val/accuracy", "loss"]


def test_an_experiment_of_a_program_has_the_best_value_of_the_metric_that_judges_it(
    both: TestClient, engine: Engine
) -> None:
    program = "{kind: program, command: python train.py}"
    assert post(both, f"name: own\nbase: {program}\naxes: {{parameters.seed: [0, 1]}}\n").status_code == 201
    values = ({"train/acc": 0.9, "val/acc": 0.5, "lr": 3.0}, {"val/acc": 0.75}, {"val/acc": 0.25})
    with transaction(engine) as db:
        experiment = db.scalars(select(func.max(Run.experiment_id))).one()
        first, second = db.scalars(select(Run.id).where(Run.experiment_id == experiment).order_by(Run.number))
        db.get_one(Run, first).latest = dict(values[0])
        points.put(db, first, [Points(attempt=1, at=0.0, step=1, values=values[0])])
        later = [Points(attempt=1, at=0.0, step=step, values=values[step]) for step in (1, 2)]
        points.put(db, second, later)
    (own, *others) = both.get("/api/v1/experiments").json()["items"]
    assert own["objective"] == {"metric": "val/acc", "goal": "max", "value": "best"}
    assert own["best"] == {"value": 0.75, "run": second}
    assert {other["best"] for other in others} <= {None}


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["train/loss", "train/acc", "val/loss", "val/acc"], "val/acc"),
        (["train/loss", "val/loss"], "val/loss"),
        (["lr", "train/loss"], "train/loss"),
        (["lr", "momentum"], None),
        ([], None),
    ],
)
def test_runs_are_judged_by_a_metric_whose_name_says_which_values_are_good(
    names: list[str], chosen: str | None
) -> None:
    assert key_metric(names) == chosen
