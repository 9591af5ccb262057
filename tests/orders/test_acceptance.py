"""The acceptance of experiments without HTTP: a periodic task makes and extends them by the rules of the API."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, select, update

from api.app import create_app
from contract.api.cluster_report import ClusterReport
from contract.api.lifecycle import PointsRequest
from contract.lifecycle.schedule import Missed, Overlap, StartStatus
from contract.settings import Settings
from contract.spec.grid.step_grid import Points, StepGrid
from contract.validation import ValidationIssue
from orders import acceptance, addition, extension
from orders.acceptance import Accepted, Request
from orders.addition import Added
from orders.folders import Folders
from orders.refused import Kind, Refused
from scheduler.clusters.local import Local
from scheduler.context import Context
from scheduler.ticks.schedule import schedule
from store import clusters, schedules
from store.session import snapshot, transaction
from store.tables.base import now
from store.tables.clusters import Cluster
from store.tables.experiments import Experiment
from store.tables.runs import Run
from tests.testing.api import TOKEN, WITH_TOKEN
from tests.testing.workflows import document, engine, program, step

pytestmark = pytest.mark.ring("gate")
GRID = {"name": "grid", "base": engine(), "axes": {"seed": [0, 1]}}
REFUSED = {
    "field": {**GRID, "axes": {"seed": [0, 1], "batch": [6, 7]}},
    "unknown": {**GRID, "unknown": 1},
    "code": {"name": "code", "base": program(code="0" * 64)},
    "weights": {"name": "weights", "base": engine(initial_weights={"run": 7})},
    "program": {"name": "program", "base": program(environment={"venv": "/nowhere"})},
    "cluster": {"name": "cluster", "base": engine(resources={"kind": "slurm", "nodes": 1})},
    "target": {**GRID, "notify": [{"target": "nobody", "on": ["end"]}]},
    "module": {"name": "module", "base": engine(model={"kind": "import", "function": "nosuchmodule_xyz:make"})},
    "step": document(step("first", engine(batch=7)), step("second", needs=["third"])),
}


@pytest.fixture
def context(engine: Engine, tmp_path: Path) -> Context:
    with transaction(engine) as db:
        clusters.store_report(db, "local", ClusterReport(partitions=[], nodes=[], queue=[]), None)
    return Context(engine, {"local": Local()}, tmp_path / "runs", local_ranks=2)


def tick(context: Context, spec: dict[str, Any]) -> tuple[StartStatus, str | None]:
    """Carry out the tick of a schedule of this spec that is due; return what became of its start."""
    columns = {"missed": Missed.RUN_ONCE, "overlap": Overlap.ALLOW, "next_at": now().replace(second=0, microsecond=0)}
    with transaction(context.engine) as db:
        added = schedules.add_schedule(
            db, [], name="nightly", owner="ada", spec=spec, cron="0 0 1 1 *", time_zone="UTC", path=None, **columns
        )
    schedule(context)
    with snapshot(context.engine) as db:
        (start,) = schedules.starts_of(db, added.id, 10)
    return start.status, start.message


def experiments(context: Context) -> list[Experiment]:
    with snapshot(context.engine) as db:
        return list(db.scalars(select(Experiment)))


def test_a_tick_creates_an_experiment_and_extends_it_by_points(context: Context) -> None:
    assert tick(context, GRID) == (StartStatus.CREATED, None)
    (made,) = experiments(context)
    asked = PointsRequest(axes={"seed": [2]}, points=[{"batch": 32}])
    assert addition.add_points(context.engine, context.folders, made.id, asked) == Added([3, 4], 2)
    assert addition.add_points(context.engine, context.folders, made.id, asked) == Added([], 4)
    with snapshot(context.engine) as db:
        values = db.scalars(select(Run.values).order_by(Run.id)).all()
    assert values == [{"seed": 0}, {"seed": 1}, {"seed": 2}, {"batch": 32}]


@pytest.fixture
def client(context: Context, tmp_path: Path) -> Iterator[TestClient]:
    """The API on the same database and folders."""
    url = context.engine.url.render_as_string(hide_password=False)
    app = create_app(Settings(home=tmp_path, database=url, token=TOKEN))
    with TestClient(app, base_url="http://localhost", headers=WITH_TOKEN) as client:
        yield client


@pytest.mark.parametrize("what", REFUSED)
def test_a_refused_spec_has_the_issues_of_post(context: Context, client: TestClient, what: str) -> None:
    answer = client.post("/api/v1/experiments", json=REFUSED[what])
    assert answer.status_code == 422, answer.text
    issues = [(issue["path"], issue["message"]) for issue in answer.json()["errors"]]
    assert issues
    message = "; ".join(f"{path}: {message}" for path, message in issues)
    assert tick(context, REFUSED[what]) == (StartStatus.FAILED, message)
    assert experiments(context) == []


def test_the_grid_of_a_request_is_expanded_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    expand = StepGrid.expand_checked

    def counted(grid: StepGrid) -> tuple[Points, list[ValidationIssue]]:
        sizes.append(grid.grid.size)
        return expand(grid)

    monkeypatch.setattr(StepGrid, "expand_checked", counted)
    assert client.post("/api/v1/experiments", json=GRID).status_code == 201
    assert client.post("/api/v1/experiments?dry_run=true", json=GRID).status_code == 200
    assert client.get("/api/v1/experiments/1").status_code == 200
    assert sizes == [2, 2]


def test_refused_points_have_the_issues_of_post(context: Context, client: TestClient) -> None:
    assert client.post("/api/v1/experiments", json=GRID).status_code == 201
    for asked in ({"axes": {"batch": [7]}}, {"points": [{"batch": 64}, {"batch": 7}]}, {"axes": {"seed": [True]}}):
        refused = addition.add_points(context.engine, context.folders, 1, PointsRequest.model_validate(asked))
        assert isinstance(refused, Refused)
        answer = client.post("/api/v1/experiments/1/points", json=asked)
        assert [issue.model_dump() for issue in refused.issues] == answer.json()["errors"]
        assert (answer.status_code, refused.message) == (422, answer.json()["detail"])


@pytest.mark.parametrize(
    ("points", "path"),
    [
        ([{"seed": 0}, {"resources": {"kind": "slurm"}}, {"seed": 2}], "points.1.resources.kind"),
        ([{"seed": 0}, {"seed": 2}], "base.resources.kind"),
    ],
    ids=["its own field", "a field of the base"],
)
def test_a_point_outside_the_grid_is_refused_at_its_place_in_the_request(
    context: Context, client: TestClient, points: list[dict[str, Any]], path: str
) -> None:
    """The first point of each request is one that the experiment has: no run is made of it."""
    assert client.post("/api/v1/experiments", json=GRID).status_code == 201
    if path.startswith("base"):  # the cluster is one that the service had
        with transaction(context.engine) as db:
            db.execute(update(Cluster).values(kind="slurm"))
    refused = addition.add_points(context.engine, context.folders, 1, PointsRequest.model_validate({"points": points}))
    assert isinstance(refused, Refused)
    assert [issue.path for issue in refused.issues] == [path]


def test_a_refusal_says_of_which_kind_it_is_and_whether_force_passes_it(context: Context) -> None:
    folders = context.folders
    absent = program(environment={"venv": "/nowhere"})
    refused = acceptance.check(context.engine, {"name": "x", "base": absent}, folders)
    assert isinstance(refused, Refused)
    assert (refused.kind, refused.is_forceable) == (Kind.INVALID, True)
    assert not isinstance(acceptance.check(context.engine, {"name": "x", "base": absent}, folders, force=True), Refused)
    assert kind_of(addition.add_points(context.engine, folders, 9, PointsRequest())) is Kind.ABSENT
    assert kind_of(extension.extend(context.engine, folders, 9, 5)) is Kind.ABSENT
    assert isinstance(store(context, GRID, Request(key="k")), Accepted)
    assert kind_of(store(context, GRID, Request(origin=9))) is Kind.ABSENT
    assert kind_of(store(context, {**GRID, "name": "another"}, Request(key="k"))) is Kind.CONFLICT
    assert kind_of(extension.extend(context.engine, folders, 1, 5)) is Kind.CONFLICT
    assert store(context, GRID, Request(key="k")) == Accepted(1, [1, 2], [])


def store(context: Context, spec: dict[str, Any], asked: Request) -> Accepted | Refused:
    checked = acceptance.check(context.engine, spec, context.folders)
    assert not isinstance(checked, Refused)
    with transaction(context.engine) as db:
        return acceptance.store(db, checked, asked)


def kind_of(answer: object) -> Kind:
    assert isinstance(answer, Refused)
    return answer.kind


def test_the_settings_and_a_worker_name_the_same_folders(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, token=TOKEN)
    assert Context.of(settings).folders == Folders.of(settings)


def test_neither_acceptance_nor_its_callers_in_the_scheduler_load_the_web_framework() -> None:
    modules = "orders.acceptance, orders.addition, orders.extension, scheduler.app"
    code = f"import sys, {modules}; sys.exit('fastapi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2]).returncode == 0
