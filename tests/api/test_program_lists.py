"""Test what a list shows of experiments of programs: the series that they report, and the number of their steps."""

from fastapi.testclient import TestClient
from sqlalchemy import Engine

from store.session import transaction
from store.tables import Run
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
