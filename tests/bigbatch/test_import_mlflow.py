"""`bigbatch import mlflow`: a server, a folder mlruns and a database say the same."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from bigbatch.client import Client
from bigbatch.errors import BigbatchError
from bigbatch.importing.mlflow_runs import read_mlflow
from bigbatch.importing.mlflow_server import MlflowServer
from tests.bigbatch.test_imports import BEGAN, experiment_of, series_of
from tests.testing.command import Call


def mlruns(folder: Path) -> Path:
    run = folder / "mlruns" / "7" / "abc"
    files = {
        folder / "mlruns" / "7" / "meta.yaml": "name: vision\nlifecycle_stage: active\nexperiment_id: '7'\n",
        run / "meta.yaml": "run_id: abc\nrun_name: wise owl\nlifecycle_stage: active\n"
        f"start_time: {int(BEGAN * 1000)}\nend_time: {int(BEGAN * 1000) + 5000}\n",
        run / "params" / "lr": "0.1",
        run / "params" / "flags" / "amp": "True",
        run / "metrics" / "val" / "loss": f"{int(BEGAN * 1000)} 0.5 1\n{int(BEGAN * 1000) + 2000} nan 2\n",
        run / "metrics" / "no_steps": f"{int(BEGAN * 1000) + 1} 2.0 0\n{int(BEGAN * 1000)} 1.0 0\n",
        run / "tags" / "mlflow.user": "ada",
        run / "tags" / "stage": "final",
        folder / "mlruns" / "7" / "gone" / "meta.yaml": "run_id: gone\nlifecycle_stage: deleted\n",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder / "mlruns"


def database(folder: Path) -> Path:
    path = folder / "mlflow.db"
    at = int(BEGAN * 1000)
    with sqlite3.connect(path) as db:
        db.executescript(
            "CREATE TABLE experiments (experiment_id INTEGER, name TEXT, lifecycle_stage TEXT);"
            "CREATE TABLE runs (run_uuid TEXT, name TEXT, start_time INTEGER, end_time INTEGER, lifecycle_stage TEXT,"
            " experiment_id INTEGER);"
            "CREATE TABLE params (key TEXT, value TEXT, run_uuid TEXT);"
            "CREATE TABLE tags (key TEXT, value TEXT, run_uuid TEXT);"
            "CREATE TABLE metrics (key TEXT, value REAL, timestamp INTEGER, run_uuid TEXT, step INTEGER,"
            " is_nan INTEGER);"
        )
        db.execute("INSERT INTO experiments VALUES (7, 'vision', 'active')")
        db.execute("INSERT INTO runs VALUES ('abc', 'wise owl', ?, ?, 'active', 7)", (at, at + 5000))
        db.execute("INSERT INTO runs VALUES ('gone', '', ?, NULL, 'deleted', 7)", (at,))
        db.executemany("INSERT INTO params VALUES (?, ?, 'abc')", [("lr", "0.1"), ("flags/amp", "True")])
        db.executemany("INSERT INTO tags VALUES (?, ?, 'abc')", [("mlflow.user", "ada"), ("stage", "final")])
        rows = [("val/loss", 0.5, at, 1, 0), ("val/loss", 0.0, at + 2000, 2, 1)]
        rows += [("no_steps", 2.0, at + 1, 0, 0), ("no_steps", 1.0, at, 0, 0)]
        db.executemany("INSERT INTO metrics VALUES (?, ?, ?, 'abc', ?, ?)", rows)
    return path


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("store", [mlruns, database])
def test_mlflows_runs_have_their_parameters_tags_and_metrics(
    client: Client, call: Call, tmp_path: Path, store: Callable[[Path], Path]
) -> None:
    said = call("import", "mlflow", store(tmp_path))
    assert said.code == 0, said.err
    (found,) = client.runs(experiment_of(client, "vision").id)
    run = client.run(found.id)
    assert run.values == {"name": "wise owl", "parameters.lr": 0.1, "parameters.flags/amp": True}
    assert (run.tags, run.spec.kind) == (["stage=final"], "recorded")
    assert run.ended_at
    assert run.started_at
    assert (run.ended_at - run.started_at).total_seconds() == 5
    points = series_of(client, run.id)
    assert points["val/loss"] == {1: 0.5, 2: None}
    assert points["no_steps"] == {0: 1.0, 1: 2.0}, "a metric that was logged without steps is numbered by time"


def test_an_mlflow_server_is_read_page_by_page() -> None:
    """The answers are those of MLflow's REST API: int64 numbers and NaN are texts, a page names the next one."""
    at = int(BEGAN * 1000)
    points = [{"key": "loss", "value": 0.5, "timestamp": str(at), "step": "1"}]
    more = [{"key": "loss", "value": "NaN", "timestamp": str(at + 1), "step": "2"}]
    info = {"run_id": "abc", "run_name": "owl", "start_time": str(at), "end_time": str(at + 1000), "status": "FINISHED"}
    data = {"metrics": [{"key": "loss"}], "params": [{"key": "lr", "value": "1e-3"}], "tags": []}

    def answer(request: httpx.Request) -> httpx.Response:
        asked = json.loads(request.content) if request.content else dict(request.url.params)
        match request.url.path.removeprefix("/api/2.0/mlflow/"), asked.get("page_token"):
            case "experiments/search", None:
                found: Any = {"experiments": [{"experiment_id": "1", "name": "a"}], "next_page_token": "p2"}
            case "experiments/search", "p2":
                found = {"experiments": [{"experiment_id": "2", "name": "b"}]}
            case "runs/search", None:
                found = {"runs": [{"info": info, "data": data}]} if asked["experiment_ids"] == ["2"] else {}
            case "metrics/get-history", None:
                found = {"metrics": points, "next_page_token": "p2"}
            case "metrics/get-history", "p2":
                found = {"metrics": more}
            case _:
                return httpx.Response(404, text="no such page")
        return httpx.Response(200, json=found)

    server = MlflowServer("http://mlflow", transport=httpx.MockTransport(answer))
    first, second = server.experiments()
    assert list(read_mlflow(server, first)) == []
    (run,) = read_mlflow(server, second)
    assert (run.name, run.recorded().parameters, run.started_at) == ("owl", {"lr": 0.001}, BEGAN)
    (name, steps, values), clock = run.columns()
    assert (name, steps, [repr(value) for value in values]) == ("loss", [1, 2], ["0.5", "nan"])
    assert clock[:2] == ("trained_s", [1, 2])


@pytest.mark.parametrize(
    ("status", "text", "message"), [(401, "no", "MLFLOW_TRACKING_TOKEN"), (200, "<html>", "not that of an MLflow")]
)
def test_another_server_is_an_error(status: int, text: str, message: str) -> None:
    server = MlflowServer("http://x", transport=httpx.MockTransport(lambda _: httpx.Response(status, text=text)))
    with pytest.raises(BigbatchError, match=message):
        list(server.experiments())


def test_what_is_no_mlflow_is_an_error(client: Client, call: Call, tmp_path: Path) -> None:
    (tmp_path / "file.db").write_bytes(b"no database at all")
    (tmp_path / "empty").mkdir()
    for name, message in (("absent", "neither"), ("file.db", "no database of MLflow"), ("empty", "no experiments")):
        said = call("import", "mlflow", tmp_path / name)
        assert (said.code, message in said.err) == (2, True), said
    assert call("import", "mlflow", mlruns(tmp_path), "--experiment", "absent").code == 2
