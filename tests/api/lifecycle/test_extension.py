"""POST .../points and .../extend: an experiment grows by points, a run that is done by epochs; both may be repeated."""

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.folder.run_folder import RunFolder
from contract.lifecycle.state import State
from store.session import transaction
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import TO_RUNNING, current_job, move

GRID = SPEC + "axes: {batch: [64, 128], seed: [0, 1]}\n"
OPEN_END = SPEC.replace("{kind: polynomial, rate: 8.0}", "{kind: step, rate: 8.0, milestones: [1.0]}")
POINTS, EXTEND = "/api/v1/experiments/2/points", "/api/v1/runs/2/extend"


@pytest.fixture
def grid(both: TestClient) -> TestClient:
    """Experiment 2 has four points, the runs 2 to 5."""
    assert post(both, GRID).status_code == 201
    return both


def issues(answer: Any) -> list[str]:
    assert answer.status_code == 422, answer.text
    return [issue["path"] for issue in answer.json()["errors"]]


def test_a_further_value_of_an_axis_adds_every_combination_once(grid: TestClient) -> None:
    answer = grid.post(POINTS, json={"axes": {"batch": [256, 64]}})
    assert answer.json() == {"id": 2, "runs": [6, 7], "existing": 4}
    new = grid.get("/api/v1/experiments/2/runs?after=3").json()["items"]
    assert [(run["number"], run["values"], run["state"]) for run in new] == [
        (4, {"batch": 256, "seed": 0}, "queued"),
        (5, {"batch": 256, "seed": 1}, "queued"),
    ]
    assert grid.get("/api/v1/experiments/2").json()["spec"]["axes"] == {"batch": [64, 128, 256], "seed": [0, 1]}
    assert grid.get("/api/v1/runs/6").json()["spec"]["batch"] == 256
    assert grid.post(POINTS, json={"axes": {"batch": [256]}}).json() == {"id": 2, "runs": [], "existing": 6}


def test_points_outside_the_grid_are_added_once(grid: TestClient) -> None:
    asked = {
        "points": [{"batch": 512, "schedule.rate": 2}, {"schedule.rate": 2.0, "batch": 512}, {"batch": 64, "seed": 1}]
    }
    assert grid.post(POINTS, json=asked).json() == {"id": 2, "runs": [6], "existing": 1}
    assert grid.post(POINTS, json=asked).json() == {"id": 2, "runs": [], "existing": 2}
    shown = grid.get("/api/v1/experiments/2").json()
    assert (shown["runs"], shown["added_points"]) == (5, [{"batch": 512, "schedule.rate": 2.0}])
    assert grid.post(POINTS, json={"axes": {"seed": [2]}}).json()["runs"] == [7, 8]
    assert grid.get("/api/v1/runs/7").json()["number"] == 5


@pytest.mark.ring("gate")
def test_a_programs_parameter_grows_by_the_name_that_its_user_gave_it(both: TestClient) -> None:
    program = "{kind: program, command: 'echo {lr}', parameters: {lr: 0.1, seed: 0}}"
    created = post(both, f"name: own\nbase: {program}\naxes: {{parameters.lr: [0.1]}}\n")
    assert created.status_code == 201, created.text
    asked = {"axes": {"lr": [0.2]}, "points": [{"lr": 0.3, "seed": 7}]}
    assert both.post(POINTS, json=asked).json() == {"id": 2, "runs": [3, 4], "existing": 1}
    values = [run["values"] for run in both.get("/api/v1/experiments/2/runs").json()["items"]]
    assert values == [{"parameters.lr": 0.1}, {"parameters.lr": 0.2}, {"parameters.lr": 0.3, "parameters.seed": 7}]
    refused = both.post(POINTS, json={"axes": {"rate": [1]}})
    assert "its axes are parameters.lr" in refused.json()["errors"][0]["message"]


@pytest.mark.ring("gate")
def test_a_number_is_a_further_value_of_an_axis_of_yes_and_no(both: TestClient) -> None:
    program = "{kind: program, command: 'echo {flag}', parameters: {flag: false}}"
    assert post(both, f"name: own\nbase: {program}\naxes: {{parameters.flag: [false, true]}}\n").status_code == 201
    asked = {"axes": {"flag": [0, 1, True]}}
    assert both.post(POINTS, json=asked).json() == {"id": 2, "runs": [4, 5], "existing": 2}
    values = [run["values"]["parameters.flag"] for run in both.get("/api/v1/experiments/2/runs").json()["items"]]
    assert [str(value) for value in values] == ["False", "True", "0", "1"]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("asked", "paths"),
    [
        ({"axes": {"epochs": [5]}}, ["axes.epochs"]),
        ({"axes": {"batch": [6]}}, ["axes.batch"]),
        ({"points": [{"batch": 64}, {"batch": 6}]}, ["points.1.batch"]),
        ({"points": [{"optimiser": 3}]}, ["points.0.optimiser"]),
        ({"points": [{"seed": seed} for seed in range(1001)]}, ["points"]),
        ({"axes": {"seed": list(range(2, 5001))}}, ["axes"]),
    ],
)
def test_points_are_checked_as_at_post(grid: TestClient, asked: dict[str, object], paths: list[str]) -> None:
    assert issues(grid.post(POINTS, json=asked)) == paths
    assert grid.get("/api/v1/experiments/2").json()["runs"] == 4
    assert grid.post("/api/v1/experiments/99/points", json={"axes": {}}).status_code == 404


@pytest.fixture
def done(both: TestClient, engine: Engine, tmp_path: Path) -> TestClient:
    """Run 2 is done, and has one complete checkpoint; run 1 has another schedule."""
    assert post(both, OPEN_END).status_code == 201
    with transaction(engine) as db:
        for run_id in (1, 2):
            run = db.get_one(Run, run_id)
            for state in (*TO_RUNNING, State.DONE):
                move(db, run, state)
            current_job(db, run).is_gone = True
            run.step = run.steps
    folder = RunFolder.of(tmp_path / "runs", 2, run.key)
    for name, file in (("step-0000000044-attempt-1", "manifest.json"), ("step-0000000066-attempt-1", "shared.pt")):
        (folder.checkpoints / name).mkdir(parents=True)
        (folder.checkpoints / name / file).write_text("{}")
    return both


def test_a_run_goes_on_from_its_newest_complete_checkpoint(done: TestClient, engine: Engine) -> None:
    answer = done.post(EXTEND, json={"epochs": 5}, headers={"Bigbatch-User": "ada"})
    assert answer.json() == {"id": 2, "epochs": 5, "steps": 110, "from_step": 44, "state": "queued"}
    run = done.get("/api/v1/runs/2").json()
    assert (run["spec"]["epochs"], run["steps"], run["step"], run["ended_at"]) == (5, 110, 66, None)
    assert run["moves"][-1]["reason"] == "ada asked it to go on to epoch 5"
    assert done.post(EXTEND, json={"epochs": 5}).json()["from_step"] is None
    assert done.post(EXTEND, json={"epochs": 6}).status_code == 409
    with transaction(engine) as db:
        assert db.get_one(Run, 2).retries_after == 1


def test_a_run_that_cannot_go_on_is_refused_with_the_reason(done: TestClient, engine: Engine, tmp_path: Path) -> None:
    assert issues(done.post("/api/v1/runs/1/extend", json={"epochs": 5})) == ["schedule"]
    assert issues(done.post(EXTEND, json={"epochs": 2})) == ["epochs"]
    assert issues(done.post(EXTEND, json={"epochs": 2**31})) == ["epochs"]
    with transaction(engine) as db:
        run = db.get_one(Run, 2)
        run.values = {"epochs": 3}
    assert issues(done.post(EXTEND, json={"epochs": 5})) == ["epochs"]
    with transaction(engine) as db:
        db.get_one(Run, 2).values = {}
    (RunFolder.of(tmp_path / "runs", 2, run.key).checkpoints / "step-0000000044-attempt-1/manifest.json").unlink()
    assert issues(done.post(EXTEND, json={"epochs": 5})) == ["checkpoint.at_end"]
    assert done.get("/api/v1/runs/2").json()["state"] == "done"
