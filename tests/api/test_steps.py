"""Workflows by REST: posted, drafted, shown as a graph, stopped and retried."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select, update

from contract.lifecycle.state import State
from scheduler.clusters.local import Local
from scheduler.context import Context
from scheduler.ticks.plan import plan
from store.session import snapshot, transaction
from store.tables.runs import Job, Run
from store.tables.steps import Step
from tests.testing.api import SPEC, post
from tests.testing.workflows import document, end_run, end_step_runs, engine, program, runs_of, step

TRAIN = step("train", engine(), axes={"seed": [0, 1, 2]}, needs=["prepare"])
REPORT = step("report", program("report {steps.train.best.heldout_accuracy}"), when="steps.train.best.loss < 2")
YAML = {"content-type": "application/yaml"}
WORKFLOW = json.dumps(document(step("prepare"), TRAIN, REPORT))


@pytest.fixture
def context(sqlite_engine: Engine, tmp_path: Any) -> Context:
    return Context(sqlite_engine, {"local": Local()}, tmp_path / "runs", local_ranks=2)


def graph(client: TestClient, experiment_id: int = 1) -> dict[str, Any]:
    answer = client.get(f"/api/v1/experiments/{experiment_id}/steps")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def states(client: TestClient) -> dict[str, str]:
    return {one["name"]: one["state"] for one in graph(client)["steps"]}


def test_a_workflow_is_stored_with_the_runs_of_its_first_steps(client: TestClient) -> None:
    answer = post(client, WORKFLOW)
    assert (answer.status_code, answer.json()["runs"]) == (201, [1])
    found = client.get("/api/v1/experiments/1").json()
    assert (found["state"], found["runs"], found["open_steps"]) == ("queued", 1, 3)
    assert (found["spec"]["base"], [one["name"] for one in found["spec"]["steps"]]) == (
        None,
        ["prepare", "train", "report"],
    )
    (run,) = client.get("/api/v1/experiments/1/runs").json()["items"]
    assert run["step_id"] == 1


def test_the_graph_says_what_each_step_waits_for(client: TestClient) -> None:
    post(client, WORKFLOW)
    found = graph(client)
    steps = {one["name"]: one for one in found["steps"]}
    assert steps["train"]["reason"] == "it waits for prepare (1 of 1 run has not ended)"
    assert steps["report"]["reason"] == "it waits for train, which waits too"
    assert [(one["size"], one["kind"], one["counts"]) for one in found["steps"]] == [
        (1, "program", {"queued": 1}),
        (3, "engine", {}),
        (1, "program", {}),
    ]
    assert found["edges"] == [
        {"source": "prepare", "target": "train", "references": []},
        {
            "source": "train",
            "target": "report",
            "references": ["{steps.train.best.heldout_accuracy}", "{steps.train.best.loss}"],
        },
    ]
    assert all(one["is_critical"] for one in found["steps"])
    assert found["predicted_end"] is None, "no step has run before"


def test_the_end_is_predicted_from_the_durations_of_the_last_time(client: TestClient, context: Context) -> None:
    post(client, WORKFLOW)
    for name in ("prepare", "train", "report"):
        end_step_runs(context, name, loss=1.0, heldout_accuracy=0.5)
        plan(context)
    assert set(states(client).values()) == {"done"}
    post(client, WORKFLOW)
    found = graph(client, 2)
    assert found["predicted_end"] is not None
    assert all(one["duration_s"] is not None for one in found["steps"][1:])


def test_a_step_that_took_a_result_says_nothing_about_its_duration(client: TestClient, context: Context) -> None:
    for _ in range(2):
        post(client, WORKFLOW)
    for experiment_id, taken_from in ((1, None), (2, 1)):
        for name in ("prepare", "train", "report"):
            end_step_runs(context, name, experiment_id=experiment_id, loss=1.0, heldout_accuracy=0.5)
            plan(context)
        with transaction(context.engine) as db:
            db.execute(update(Run).where(Run.experiment_id == experiment_id).values(taken_from=taken_from))
            seconds = 600 if taken_from is None else 1
            mine = select(Run.id).where(Run.experiment_id == experiment_id)
            db.execute(update(Job).where(Job.run_id.in_(mine)).values(ran_s=seconds))
    post(client, WORKFLOW)
    assert [one["duration_s"] for one in graph(client, 3)["steps"]] == [pytest.approx(600.0, abs=10)] * 3


def test_an_experiment_without_steps_has_an_empty_graph(client: TestClient) -> None:
    post(client, SPEC)
    assert graph(client) == {"steps": [], "edges": [], "predicted_end": None}
    assert client.get("/api/v1/experiments/1").json()["open_steps"] == 0


def test_a_dry_run_shows_the_steps_and_the_runs_that_are_known(client: TestClient) -> None:
    path = "/api/v1/experiments?dry_run=true"
    draft = client.post(path, content=WORKFLOW, headers={"content-type": "application/yaml"}).json()
    assert [(run["number"], run["step_name"]) for run in draft["runs"]] == [
        (0, "prepare"),
        (1, "train"),
        (2, "train"),
        (3, "train"),
    ]
    assert draft["steps"] == [
        {"name": "prepare", "needs": [], "runs": 1},
        {"name": "train", "needs": ["prepare"], "runs": 3},
        {"name": "report", "needs": ["train"], "runs": 1},
    ]
    assert client.get("/api/v1/experiments").json()["items"] == []


def test_a_wrong_workflow_is_refused_with_the_places(client: TestClient) -> None:
    wrong = json.dumps(document(step("a", program("cat {steps.b.folder}")), step("b", needs=["a"])))
    answer = post(client, wrong)
    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"path": "steps.0.needs", "message": "the steps wait for each other: a needs b needs a"}
    ]


def test_a_program_of_a_later_step_that_cannot_start_is_refused_now(client: TestClient) -> None:
    answer = post(client, json.dumps(document(step("a"), step("b", program("no-such-program"), needs=["a"]))))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == "steps.1.base.command"


def test_a_workflow_begins_at_a_step_with_all_steps_that_need_it(client: TestClient, context: Context) -> None:
    answer = client.post("/api/v1/experiments?from_step=train", content=WORKFLOW, headers=YAML)
    assert answer.status_code == 201, answer.text
    with snapshot(context.engine) as db:
        force = {step.name: step.force for step in db.scalars(select(Step))}
    assert force == {"prepare": False, "train": True, "report": True}


@pytest.mark.parametrize(
    ("document", "step_name", "words"),
    [
        (WORKFLOW, "trian", "there is no step 'trian'; did you mean 'train'?"),
        (SPEC, "train", "the experiment has no steps"),
    ],
    ids=["unknown", "no steps"],
)
def test_a_step_to_begin_at_that_does_not_exist_is_refused(
    client: TestClient, document: str, step_name: str, words: str
) -> None:
    answer = client.post(f"/api/v1/experiments?from_step={step_name}&dry_run=true", content=document, headers=YAML)
    assert (answer.status_code, answer.json()["errors"]) == (422, [{"path": "from_step", "message": words}])


def test_a_stop_cancels_the_steps_that_wait(client: TestClient, context: Context) -> None:
    post(client, WORKFLOW)
    answer = client.post("/api/v1/experiments/1/stop").json()
    assert answer == {"stopping": 1, "steps": ["train", "report"]}
    assert states(client) == {"prepare": "running", "train": "cancelled", "report": "cancelled"}
    end_step_runs(context, "prepare", State.CANCELLED)
    plan(context)
    assert client.get("/api/v1/experiments/1").json()["state"] == "cancelled"
    retried = client.post("/api/v1/experiments/1/retry").json()
    assert (retried["queued"], retried["steps"]) == ([1], ["train", "report"])
    assert states(client) == {"prepare": "running", "train": "waiting", "report": "waiting"}


def test_the_state_of_an_experiment_counts_steps_that_wait(client: TestClient, context: Context) -> None:
    post(client, WORKFLOW)
    end_step_runs(context, "prepare")

    def listed(state: str) -> list[int]:
        return [one["id"] for one in client.get("/api/v1/experiments", params={"state": state}).json()["items"]]

    assert client.get("/api/v1/experiments/1").json()["state"] == "queued"
    assert (listed("queued"), listed("done")) == ([1], [])
    plan(context)
    for run in runs_of(context, "train"):
        end_run(context, run, State.FAILED)
    plan(context)
    assert client.get("/api/v1/experiments/1").json()["state"] == "failed"
    assert (listed("queued"), listed("failed")) == ([], [1])
    reasons = {one["name"]: one["reason"] for one in graph(client)["steps"]}
    assert reasons["train"] == "of 3 runs 3 failed"
    assert reasons["report"] == "step train failed, and its `on_failure: fail` ends the experiment"


def test_the_runs_the_table_and_the_answer_of_one_step(client: TestClient, context: Context) -> None:
    post(client, WORKFLOW)
    end_step_runs(context, "prepare")
    plan(context)
    for run, accuracy in zip(runs_of(context, "train"), (0.5, 0.75, 0.6), strict=True):
        end_run(context, run, loss=1.0, heldout_accuracy=accuracy)
    listed = client.get("/api/v1/experiments/1/runs", params={"step": "train"}).json()["items"]
    assert [run["values"] for run in listed] == [{"seed": 0}, {"seed": 1}, {"seed": 2}]
    assert client.get("/api/v1/experiments/1/runs", params={"step": "nope"}).status_code == 404
    table = client.get("/api/v1/runs/table", params={"where": "step_name = train", "column": "step_name"}).json()
    assert [row["cells"] for row in table["rows"]] == [["train"]] * 3
    answer = client.get("/api/v1/experiments/1/answer", params={"step": "train"})
    assert (answer.status_code, answer.json()["over"]) == (200, "seed")
    assert client.get("/api/v1/experiments/1/answer").json() == answer.json(), "the step with the most runs"


def test_what_a_workflow_does_not_have_is_refused_with_the_reason(client: TestClient, context: Context) -> None:
    post(client, WORKFLOW)
    added = client.post("/api/v1/experiments/1/points", json={"axes": {"seed": [5]}})
    assert (added.status_code, "has steps" in added.json()["detail"]) == (409, True)
    end_step_runs(context, "prepare")
    deleted = client.delete("/api/v1/experiments/1", params={"confirm": "a workflow"})
    assert (deleted.status_code, "3 steps of experiment 1 have not ended" in deleted.json()["detail"]) == (409, True)
    assert client.get("/api/v1/experiments/1/checkpoints").status_code == 200


def test_a_deleted_workflow_is_not_planned(client: TestClient, context: Context) -> None:
    post(client, WORKFLOW)
    client.post("/api/v1/experiments/1/stop")
    end_step_runs(context, "prepare", State.CANCELLED)
    plan(context)
    assert client.delete("/api/v1/experiments/1", params={"confirm": "a workflow"}).status_code == 200
    assert client.get("/api/v1/experiments/1/steps").status_code == 404
    plan(context)


def test_the_same_key_is_carried_out_once(client: TestClient) -> None:
    headers = {"content-type": "application/yaml", "idempotency-key": "k"}
    first, second = (client.post("/api/v1/experiments", content=WORKFLOW, headers=headers) for _ in range(2))
    assert (first.status_code, second.json()["id"]) == (201, 1)
    other = json.dumps(document(step("prepare"), TRAIN))
    assert client.post("/api/v1/experiments", content=other, headers=headers).status_code == 409


def test_the_stored_spec_has_what_a_section_fills_in(client: TestClient) -> None:
    search = {"kind": "program", "dedup": {"images": "/data/images", "threshold": 60}}
    use = program("train {steps.search.outputs.list}")
    answer = post(client, json.dumps(document(step("search", search), step("train", use))))
    assert answer.status_code == 201, answer.text
    base = client.get("/api/v1/experiments/1").json()["spec"]["steps"][0]["base"]
    run = client.get("/api/v1/runs/1").json()["spec"]
    filled = ("{job_python} -P -m trainers.data.dedup", "plain", "dedup/images.txt")
    for spec in (base, run):
        assert (spec["command"], spec["launcher"], spec["outputs"]["list"]) == filled
    assert (run["dedup"]["threshold"], run["dedup"]["bits"]) == (60, 256)


def test_a_wrong_option_of_a_section_is_refused_with_its_place(client: TestClient) -> None:
    search = {"kind": "program", "dedup": {"images": "images", "threshold": 64, "bits": 64}}
    answer = post(client, json.dumps(document(step("search", search))))
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == [
        "steps.0.base.dedup.images",
        "steps.0.base.dedup.threshold",
    ]
