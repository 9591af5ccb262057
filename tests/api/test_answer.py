"""The answer of an experiment by REST, from stored points, on both databases."""

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.folder.events import Points
from contract.lifecycle.state import State
from contract.spec.expanded import expand, read_experiment
from contract.spec.experiment import ExperimentSpec
from store.session import transaction
from tests.testing.answers import experiment
from tests.testing.seed_answers import carry_out, create, store_points

COLLECTIVES = experiment({"collective": [{"kind": "native"}, {"kind": "ring"}, {"kind": "torus"}]})


def fill(engine: Engine, spec: ExperimentSpec, *, diverged: int | None = None) -> int:
    """Store an experiment whose runs are done, but one that diverged."""
    with transaction(engine) as db:
        experiment_id, runs = create(db, expand(spec))
        for run in runs:
            has_diverged = run.number == diverged
            reason = "rank 0 on a: Diverged: at step 9 the loss is nan" if has_diverged else None
            carry_out(db, run, end=State.FAILED if has_diverged else State.DONE, reason=reason)
    return experiment_id


def test_the_answer_has_parts_times_and_speedups(both: TestClient, engine: Engine) -> None:
    path = f"/api/v1/experiments/{fill(engine, COLLECTIVES)}/answer"
    answer = both.get(path).json()
    assert (answer["picture"], answer["figure"]["name"]) == ("bars", "step_s")
    native, ring, torus = answer["groups"]
    assert [group["label"] for group in answer["groups"]] == ["native", "ring", "torus"]
    assert native["parts"]["communication_s"] > torus["parts"]["communication_s"] > 0
    assert torus["speedup"] > 1 > ring["speedup"]
    other = both.get(path, params={"baseline": 2}).json()["groups"][0]
    assert other["speedup"] * torus["speedup"] == pytest.approx(1)


def test_a_diverged_run_is_marked_and_refused(both: TestClient, engine: Engine) -> None:
    answer = both.get(f"/api/v1/experiments/{fill(engine, COLLECTIVES, diverged=1)}/answer").json()
    assert (answer["diverged"], answer["failed"]) == (1, 0)
    assert answer["groups"][1]["figure"] is None
    assert answer["groups"][1]["diverged"] == 1


def test_a_reader_may_choose_figure_and_target(both: TestClient, engine: Engine) -> None:
    path = f"/api/v1/experiments/{fill(engine, COLLECTIVES)}/answer"
    accuracy = both.get(path, params={"figure": "best(heldout_accuracy)"}).json()
    assert accuracy["groups"][0]["figure"]["mean"] == accuracy["groups"][0]["accuracy"]["mean"]
    half, full = (both.get(path, params={"target": target}).json()["groups"][0] for target in (0.5, 0.97))
    assert 0 < half["to_target"]["mean"] < full["to_target"]["mean"]
    assert both.get(path, params={"target": 0.999}).json()["groups"][1]["refusals"]


def test_a_wrong_choice_is_refused_with_what_there_is(both: TestClient, engine: Engine) -> None:
    path = f"/api/v1/experiments/{fill(engine, COLLECTIVES)}/answer"
    answer = both.get(path, params={"figure": "speed"})
    assert answer.status_code == 422
    assert "there are best(heldout_accuracy), " in answer.json()["errors"][0]["message"]
    assert both.get(path, params={"baseline": 9}).status_code == 422
    assert both.get("/api/v1/experiments/999/answer").status_code == 404


@pytest.mark.ring("all")
def test_an_experiment_that_has_not_begun_says_so(both: TestClient) -> None:
    answer = both.get("/api/v1/experiments/1/answer").json()
    assert (answer["sentence"], answer["unfinished"]) == ("No run has reported a figure yet.", 1)


def test_a_run_is_left_out_with_a_reason_and_counts_again(both: TestClient, engine: Engine) -> None:
    path = f"/api/v1/experiments/{fill(engine, COLLECTIVES)}/answer"
    run = both.get(path).json()["groups"][1]["runs"][0]
    changed = both.patch(f"/api/v1/runs/{run}", json={"left_out": "the switch was replaced"})
    assert changed.json()["left_out"] == "the switch was replaced"
    answer = both.get(path).json()
    assert answer["left_out"] == [{"run": run, "reason": "the switch was replaced"}]
    assert [group["label"] for group in answer["groups"]] == ["native", "torus"]
    assert both.get(f"/api/v1/runs/{run}").json()["left_out"] == "the switch was replaced"
    both.patch(f"/api/v1/runs/{run}", json={"left_out": ""})
    assert len(both.get(path).json()["groups"]) == 3


def test_an_archived_run_is_not_counted(both: TestClient, engine: Engine) -> None:
    path = f"/api/v1/experiments/{fill(engine, COLLECTIVES)}/answer"
    run = both.get(path).json()["groups"][1]["runs"][0]
    both.patch(f"/api/v1/runs/{run}", json={"archived": True})
    answer = both.get(path).json()
    assert (answer["archived"], len(answer["groups"])) == (1, 2)


def fill_with_slow_first_steps(engine: Engine) -> int:
    with transaction(engine) as db:
        experiment_id, runs = create(db, expand(COLLECTIVES))
        for run in runs:
            parts = [0.025] * 50 + [0.01] * 100  # the first steps are slow, and there are more than 100 others
            events = [
                Points(attempt=1, at=0.0, step=step, values={"compute_s": part, "samples_per_s": 1 / part})
                for step, part in enumerate(parts, start=1)
            ]
            store_points(db, run, events)
    return experiment_id


def test_the_parts_of_a_step_are_means_of_all_steps_as_those_of_a_query(both: TestClient, engine: Engine) -> None:
    path = f"/api/v1/experiments/{fill_with_slow_first_steps(engine)}/answer"
    answer = both.get(path, params={"figure": "samples_per_s"}).json()
    first = answer["groups"][0]
    assert first["parts"] == {"compute_s": pytest.approx(0.015)}
    assert first["figure"]["mean"] == pytest.approx(80)  # 50 of 40 and 100 of 100
    asked = {"where": "mean(compute_s) > 0.0149 and mean(compute_s) < 0.0151 and mean(samples_per_s) > 79.9"}
    assert len(both.get("/api/v1/runs/table", params=asked).json()["rows"]) == 3


def test_the_speed_of_every_run_is_the_mean_of_its_steps(
    both: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.answer.MAX_MEASURED", 1)
    path = f"/api/v1/experiments/{fill_with_slow_first_steps(engine)}/answer"
    groups = both.get(path, params={"figure": "samples_per_s"}).json()["groups"]
    assert [bool(group["parts"]) for group in groups] == [True, False, False]
    assert [group["figure"]["mean"] for group in groups] == [pytest.approx(80)] * 3
    assert [group["figure"] for group in both.get(path, params={"figure": "step_s"}).json()["groups"]][1:] == [None] * 2


def test_the_best_value_of_a_metric_is_a_figure_and_its_newest_value_another(both: TestClient, engine: Engine) -> None:
    spec = read_experiment(
        {"name": "p", "base": {"kind": "program", "command": "true"}, "axes": {"parameters.lr": [0.1, 0.3]}}
    )
    with transaction(engine) as db:
        experiment_id, runs = create(db, spec)
        for run, values in zip(runs, [(0.5, 0.9, 0.7), (0.6, 0.8, 0.75)], strict=True):
            points = [Points(attempt=1, at=0.0, step=step, values={"val/acc": one}) for step, one in enumerate(values)]
            store_points(db, run, points)
    path = f"/api/v1/experiments/{experiment_id}/answer"
    answer = both.get(path).json()
    assert [one["name"] for one in answer["figures"]] == ["best(val/acc)", "val/acc"]
    assert [group["figure"]["mean"] for group in answer["groups"]] == [0.9, 0.8]
    assert answer["sentence"].startswith("The best val/acc is highest at lr 0.1: 90.00 %")
    newest = both.get(path, params={"figure": "val/acc"}).json()
    assert [group["figure"]["mean"] for group in newest["groups"]] == [0.7, 0.75]
