"""Experiments by REST: taken in either form, listed in pages, stopped."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.api.cluster_report import ClusterReport, Node, Partition
from contract.folder.auto_choice import CollectiveChoice, CollectiveChoices, MeasuredLink
from contract.folder.events import Points
from contract.folder.run_folder import RunFolder
from contract.spec.choices.collectives import Ring
from contract.yaml_reader import read_document
from store import clusters
from store.metrics import points
from store.session import transaction
from store.tables.base import now
from store.tables.experiments import Experiment
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.stored_runs import add_job

pytestmark = pytest.mark.ring("quick")

AXES = SPEC + "axes: {seed: [0, 1, 2]}\n"


def test_an_experiment_goes_in_as_yaml_and_as_json(client: TestClient) -> None:
    as_yaml = post(client, AXES)
    as_json = post(client, json.dumps(read_document(AXES)), "application/json")
    assert (as_yaml.status_code, as_yaml.json()) == (201, {"id": 1, "runs": [1, 2, 3], "warnings": []})
    assert (as_json.status_code, as_json.json()) == (201, {"id": 2, "runs": [4, 5, 6], "warnings": []})
    one, two = (client.get(f"/api/v1/experiments/{n}").json() for n in (1, 2))
    assert one["spec"] == two["spec"]
    assert (one["name"], one["state"], one["runs"], one["counts"]) == ("lars against sgd", "queued", 3, {"queued": 3})


def test_lists_come_in_pages_newest_first(client: TestClient) -> None:
    for _ in range(5):
        post(client, SPEC)
    seen, before = [], None
    while True:
        page = client.get("/api/v1/experiments", params={"limit": 2, **({"before": before} if before else {})}).json()
        seen.append([item["id"] for item in page["items"]])
        before = page["next"]
        if before is None:
            break
    assert seen == [[5, 4], [3, 2], [1]]


def test_the_runs_of_an_experiment_come_in_pages_in_the_order_of_its_grid(client: TestClient) -> None:
    post(client, AXES)
    first = client.get("/api/v1/experiments/1/runs", params={"limit": 2}).json()
    rest = client.get("/api/v1/experiments/1/runs", params={"limit": 2, "after": first["next"]}).json()
    assert [run["values"] for run in first["items"] + rest["items"]] == [{"seed": n} for n in range(3)]
    assert rest["next"] is None


def test_the_runs_of_variants_show_all_fields_that_change_together(client: TestClient) -> None:
    variants = [
        {"optimizer": {"kind": "sgd"}, "schedule.rate": 0.1},
        {"optimizer": {"kind": "adamw"}, "schedule.rate": 1e-3},
    ]
    document = {**read_document(SPEC), "variants": variants, "axes": {"seed": [0, 1]}}
    assert len(post(client, json.dumps(document), "application/json").json()["runs"]) == 4
    shown = client.get("/api/v1/experiments/1/runs").json()["items"]
    assert [run["values"] for run in shown] == [{**variant, "seed": seed} for variant in variants for seed in (0, 1)]
    assert client.get("/api/v1/experiments/1").json()["spec"]["variants"] == variants


def test_a_key_of_an_experiment_that_was_stored_before_a_field_existed_is_known(
    client: TestClient, sqlite_engine: Engine
) -> None:
    key = {"Idempotency-Key": "one"}
    first = client.post("/api/v1/experiments", content=AXES, headers={"Content-Type": "application/yaml", **key})
    with transaction(sqlite_engine) as db:
        row = db.get_one(Experiment, 1)
        row.spec = {name: value for name, value in row.spec.items() if name != "variants"}
    again = client.post("/api/v1/experiments", content=AXES, headers={"Content-Type": "application/yaml", **key})
    assert (again.status_code, again.json()["runs"]) == (201, first.json()["runs"])


def test_all_runs_come_in_pages_newest_first_and_by_their_state(client: TestClient) -> None:
    post(client, AXES)

    def ids(**asked: object) -> tuple[list[int], int | None]:
        page = client.get("/api/v1/runs", params=asked).json()
        return [run["id"] for run in page["items"]], page["next"]

    assert ids() == ([3, 2, 1], None)
    assert ids(limit=2) == ([3, 2], 2)
    assert ids(limit=2, before=2, state="queued") == ([1], None)
    assert ids(state="done") == ([], None)


def test_curves_lie_over_each_other_and_continue_where_the_reader_is(client: TestClient, sqlite_engine: Engine) -> None:
    post(client, AXES)
    with transaction(sqlite_engine) as db:
        for run in (1, 2):
            reported = [Points(attempt=1, at=0, step=s, values={"loss": s / run}) for s in range(1, 4)]
            points.put(db, run, reported)
    whole = client.get("/api/v1/experiments/1/points", params={"name": "loss"}).json()
    fresh = client.get("/api/v1/experiments/1/points", params={"name": "loss", "after": ["1:2", "2:3"]}).json()
    assert whole["curves"][1] == {"run_id": 2, "steps": [1, 2, 3], "values": [0.5, 1.0, 1.5]}
    assert fresh["curves"] == [{"run_id": 1, "steps": [3], "values": [3.0]}]
    bad = client.get("/api/v1/experiments/1/points", params={"after": "x"})
    assert (bad.status_code, bad.json()["errors"][0]["path"]) == (422, "after.0")


def test_a_stop_is_taken_for_every_run_that_has_not_ended(client: TestClient) -> None:
    post(client, AXES)
    assert client.post("/api/v1/runs/1/stop").json() == {"stopping": 1}
    assert client.post("/api/v1/experiments/1/stop").json() == {"stopping": 3}
    assert client.get("/api/v1/runs/1").json()["stopping"] is True


def test_what_is_not_there_is_404_in_the_one_shape(client: TestClient) -> None:
    for path in (
        "experiments/9",
        "experiments/9/runs",
        "experiments/9/points",
        "runs/9",
        "runs/9/points",
        "runs/9/log",
    ):
        answer = client.get(f"/api/v1/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), path
    assert client.get("/api/v1/nothing").json() == {
        "type": "urn:bigbatch:problem:not_found",
        "title": "Not Found",
        "status": 404,
        "detail": "Not Found",
        "instance": "/api/v1/nothing",
        "code": "not_found",
        "errors": [],
    }


def test_a_cluster_that_the_service_does_not_have_is_refused_at_the_door(
    client: TestClient, sqlite_engine: Engine
) -> None:
    with transaction(sqlite_engine) as db:
        clusters.store_report(db, "local", ClusterReport(partitions=[], nodes=[], queue=[]), None)
    answer = post(client, SPEC.replace("kind: local", "kind: slurm"))
    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {"path": "base.resources.kind", "message": "this service has no slurm cluster; it has local"}
    ]


def test_a_contradiction_of_the_cluster_s_report_is_refused_unless_forced(
    client: TestClient, sqlite_engine: Engine
) -> None:
    gpu = Partition(
        name="gpu", is_default=True, state="up", nodes=1, idle_nodes=1, cpus=8, time_limit="1:00:00", gres=""
    )
    node = Node(name="n1", state="idle", partitions=["gpu"], cpus=8, busy_cpus=0, memory_mb=4000, gres="", features=[])
    spec = SPEC.replace("{kind: local, ranks_per_node: 4}", "{kind: slurm, partition: gpu, minutes: 90}")
    sweep = spec + "axes: {resources.nodes: [1, 2, 4], seed: [1, 2]}\n"
    assert post(client, sweep).status_code == 201  # without a report nothing is refused
    with transaction(sqlite_engine) as db:
        clusters.store_report(db, "slurm", ClusterReport(partitions=[gpu], nodes=[node], queue=[]), None)
    refused = post(client, sweep)
    assert refused.status_code == 422
    assert [f"{field['path']}: {field['message']}" for field in refused.json()["errors"]] == [
        "base.resources.minutes: 90 minutes; partition gpu allows 60 (point 0)",
        "base.resources.minutes: 90 minutes; partition gpu allows 60 (point 2)",
        "axes.resources.nodes: 2; partition gpu has 1 (point 2)",
        "base.resources.minutes: 90 minutes; partition gpu allows 60 (point 4)",
        "axes.resources.nodes: 4; partition gpu has 1 (point 4)",
    ]
    assert "force=true" in refused.json()["detail"]
    assert post(client, sweep, force=True).status_code == 201
    assert post(client, spec.replace("minutes: 90", "minutes: 60")).status_code == 201


@pytest.mark.parametrize(
    ("function", "is_absent"),
    [("nosuchmodule_xyz.nets:make", True), ("json.nosuch:make", False), ("__main__:make", False)],
)
def test_an_absent_module_is_refused_here_and_a_warning_on_slurm(
    client: TestClient, function: str, is_absent: bool
) -> None:
    """Only the top-level name is looked up: a lookup of a submodule would execute its parents."""
    local = SPEC + f"  model: {{kind: import, function: '{function}'}}\n"
    refused = post(client, local)
    assert refused.status_code == (422 if is_absent else 201)
    message = "the service's Python has no module 'nosuchmodule_xyz'"
    if is_absent:
        (error,) = refused.json()["errors"]
        assert error["path"] == "base.model.function"
        assert error["message"].startswith(f"{message}: start the service with the module's folder on PYTHONPATH")
        assert post(client, local, force=True).status_code == 201
    slurm = post(client, local.replace("kind: local", "kind: slurm"))
    assert slurm.status_code == 201
    expected = [f"base.model.function: {message}; the jobs' Python must have it"] if is_absent else []
    assert slurm.json()["warnings"] == expected


def test_a_log_is_read_by_offset_and_never_cuts_a_character(client: TestClient) -> None:
    post(client, SPEC)
    folder = Path(client.get("/api/v1/runs/1").json()["folder"])
    folder.mkdir(parents=True)
    text = "step 1: déjà vu ✓\n" * 50
    (folder / "out.log").write_text(text)
    got, offset = "", 0
    while True:
        part = client.get("/api/v1/runs/1/log", params={"offset": offset, "limit": 7}).json()
        if part["next"] == offset:
            break
        got, offset = got + part["text"], part["next"]
    assert got == text
    tail = client.get("/api/v1/runs/1/log", params={"offset": -10}).json()
    assert text.endswith(tail["text"].lstrip("�"))


def test_a_run_tells_what_auto_chose_and_a_damaged_record_tells_nothing(client: TestClient) -> None:
    post(client, SPEC)
    run = client.get("/api/v1/runs/1").json()
    assert run["choices"] is None
    folder = RunFolder(Path(run["folder"]))
    folder.path.mkdir(parents=True)
    ring = CollectiveChoice(from_bytes=0, collective=Ring())
    folder.write_choices(
        CollectiveChoices(hosts=[4], inside=MeasuredLink(latency_s=1e-4, rate=1e9), between=None, choices=[ring])
    )
    result = client.get("/api/v1/runs/1").json()["choices"]
    assert result["choices"] == [{"from_bytes": 0, "collective": {"kind": "ring", "wire": None, "timeout_s": 300.0}}]
    (folder.path / "collective.json").write_text("{")
    assert client.get("/api/v1/runs/1").json()["choices"] is None


def test_a_request_that_is_sent_again_with_its_key_is_done_once(client: TestClient) -> None:
    headers = {"content-type": "application/yaml", "idempotency-key": "mine"}

    def send(text: str) -> Any:
        return client.post("/api/v1/experiments", content=text, headers=headers)

    first = send(SPEC)
    assert (send(SPEC).status_code, send(SPEC).json()) == (201, first.json())
    other = send(SPEC.replace("lars against sgd", "another"))
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert post(client, SPEC).json()["id"] != first.json()["id"]


def test_what_saving_costs_is_told_with_why_there_is_no_advice(client: TestClient, sqlite_engine: Engine) -> None:
    post(client, SPEC)
    assert client.get("/api/v1/experiments/1/checkpoints").json() == []
    with transaction(sqlite_engine) as db:
        db.get_one(Run, 1).started_at = at = now() - timedelta(hours=2)
        add_job(db, db.get_one(Run, 1), started_at=at, ran_s=7200.0)
        costs = {"checkpoint_stall_s": 1.5, "checkpoint_write_s": 4.0}
        points.put(db, 1, [Points(attempt=1, at=0, step=3, values=costs)])
    (result,) = client.get("/api/v1/experiments/1/checkpoints").json()
    assert (result["world"], result["saves"], result["cost_s"], result["interval_s"]) == (4, 1, 1.5, 600)
    assert (result["interruptions"], result["best_s"], result["not_below_s"] > 60) == (0, None, True)
    assert "too few" in result["why"]


def test_a_dry_run_returns_the_runs_and_stores_nothing(client: TestClient) -> None:
    headers = {"content-type": "application/yaml", "idempotency-key": "mine"}
    draft = client.post("/api/v1/experiments?dry_run=true", content=AXES, headers=headers).json()
    assert [run["values"] for run in draft["runs"]] == [{"seed": n} for n in range(3)]
    assert {(run["cluster"], run["world"]) for run in draft["runs"]} == {("local", 4)}
    assert client.get("/api/v1/experiments").json()["items"] == []
    stored = client.post("/api/v1/experiments", content=AXES, headers=headers)
    assert (stored.status_code, stored.json()["id"]) == (201, 1)
    whole = client.get("/api/v1/experiments/1").json()
    assert whole["spec"] == draft["spec"]
    assert [client.get(f"/api/v1/runs/{n}").json()["steps"] for n in (1, 2, 3)] == [r["steps"] for r in draft["runs"]]


def test_a_dry_run_of_an_impossible_experiment_names_the_field(client: TestClient) -> None:
    headers = {"content-type": "application/yaml"}
    impossible = SPEC.replace("batch: 64", "batch: 7")
    answer = client.post("/api/v1/experiments?dry_run=true", content=impossible, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"path": "base.batch", "message": "batch 7 does not divide over 4 ranks"}]


@pytest.mark.parametrize(
    ("minutes", "axes", "warned"),
    [
        (1, "{}", "base.resources.minutes: a limit of 60 s less 15 s to save leaves 45 s"),
        (2, "{}", None),
        (60, "{resources.minutes: [1, 90]}", "axes.resources.minutes: a limit of 60 s less 15 s to save leaves 45 s"),
    ],
)
def test_a_time_limit_that_start_up_may_take_is_a_warning(
    client: TestClient, minutes: int, axes: str, warned: str | None
) -> None:
    resources = f"{{kind: slurm, ranks_per_node: 4, minutes: {minutes}}}"
    spec = SPEC.replace("{kind: local, ranks_per_node: 4}", resources).split("axes:")[0] + f"axes: {axes}\n"
    warnings = post(client, spec).json()["warnings"]
    assert [text.split(", ")[0] for text in warnings] == ([warned] if warned else [])
