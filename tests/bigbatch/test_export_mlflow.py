"""`bigbatch export-mlflow`: runs in an MLflow server, again with what is new, and after a cut; a real server too."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bigbatch.client import Client
from bigbatch.errors import BigbatchError, Unreachable
from bigbatch.importing.mlflow_runs import read_mlflow
from bigbatch.importing.mlflow_server import MlflowServer
from bigbatch.mlflow_export import MAX_METRICS, MAX_PARAMETERS, Sent, send_experiment
from tests.testing.command import Call
from tests.testing.servers import answers, free_port, wait_for

LOSSES = [1 / step for step in range(1, 2_501)]
PACKAGES = ("mlflow",)


class FakeServer:
    """MLflow's REST API as far as it is used, with the limits of its requests."""

    def __init__(self) -> None:
        self.experiments: dict[str, str] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.fails_at = math.inf  # this request and those after it are refused
        self.requests = 0

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Answer a request."""
        self.requests += 1
        if self.requests >= self.fails_at:
            return httpx.Response(400, text="the disk is full")
        asked = json.loads(request.content)
        name = request.url.path.removeprefix("/api/2.0/mlflow/").replace("/", "_").replace("-", "_")
        return httpx.Response(200, json=getattr(self, name)(asked))

    def experiments_search(self, _: Any) -> Any:
        return {"experiments": [{"experiment_id": id_, "name": name} for id_, name in self.experiments.items()]}

    def experiments_create(self, asked: Any) -> Any:
        self.experiments[id_ := str(len(self.experiments) + 1)] = asked["name"]
        return {"experiment_id": id_}

    def runs_search(self, asked: Any) -> Any:
        wanted = asked["filter"].partition(" = ")[2].strip("'")
        return {"runs": [self._shown(id_) for id_, run in self.runs.items() if run["tags"]["bigbatch.run"] == wanted]}

    def runs_create(self, asked: Any) -> Any:
        self.runs[id_ := f"run{len(self.runs)}"] = {
            "experiment": asked["experiment_id"],
            "tags": {tag["key"]: tag["value"] for tag in asked["tags"]},
            "params": {},
            "metrics": {},
            "status": "RUNNING",
        }
        return {"run": self._shown(id_)}

    def runs_log_batch(self, asked: Any) -> Any:
        run = self.runs[asked["run_id"]]
        metrics, params = asked.get("metrics", []), asked.get("params", [])
        assert len(metrics) <= MAX_METRICS
        assert len(params) <= MAX_PARAMETERS
        for one in params:
            assert run["params"].setdefault(one["key"], one["value"]) == one["value"]
        for one in metrics:
            run["metrics"].setdefault(one["key"], []).append((one["step"], float(one["value"]), one["timestamp"]))
        return {}

    def runs_update(self, asked: Any) -> Any:
        self.runs[asked["run_id"]]["status"] = asked["status"]
        return {}

    def _shown(self, id_: str) -> Any:
        run = self.runs[id_]
        last = [{"key": key, "step": str(points[-1][0])} for key, points in run["metrics"].items()]
        params = [{"key": key, "value": value} for key, value in run["params"].items()]
        return {"info": {"run_id": id_}, "data": {"metrics": last, "params": params}}


@pytest.fixture
def fake() -> FakeServer:
    return FakeServer()


@pytest.fixture
def server(fake: FakeServer) -> MlflowServer:
    return MlflowServer("http://mlflow", transport=httpx.MockTransport(fake.answer))


@pytest.fixture
def recorded(client: Client) -> tuple[int, int]:
    """An experiment with a run that has two series; return their ids."""
    id_ = client.record("to mlflow", "a test", tags=["late"])
    (run_id,) = client.record_runs(id_, [{"key": "a", "parameters": {"lr": 0.1, "net": "small"}}]).runs
    sender = client.point_sender(run_id)
    sender.send({"loss": (list(range(1, 2_501)), LOSSES), "acc/top 1 %": ([10, 20], [0.5, math.nan])})
    return id_, run_id


@pytest.mark.ring("all")
def test_a_repeated_call_sends_what_is_new(
    client: Client, server: MlflowServer, fake: FakeServer, recorded: tuple[int, int]
) -> None:
    id_, run_id = recorded
    assert send_experiment(client, server, id_) == Sent(1, 1, 2_502)
    (run,) = fake.runs.values()
    assert (fake.experiments, run["status"]) == ({"1": "to mlflow"}, "FINISHED")
    assert {"bigbatch.run": Path(client.run(run_id).folder).name, "bigbatch.experiment": str(id_)}.items() <= run[
        "tags"
    ].items()
    assert {"parameters.lr": "0.1", "parameters.net": "small"}.items() <= run["params"].items()
    assert [(step, value) for step, value, _ in run["metrics"]["loss"]] == list(enumerate(LOSSES, 1))
    assert [repr(value) for _, value, _ in run["metrics"]["acc/top 1 _"]] == ["0.5", "nan"]
    assert send_experiment(client, server, id_) == Sent(1, 0, 0)
    client.point_sender(run_id).send({"loss": ([2_501], [0.25]), "new": ([3], [1.0])})
    assert send_experiment(client, server, id_) == Sent(1, 0, 2)


def test_points_have_the_moments_of_their_steps(client: Client, server: MlflowServer, fake: FakeServer) -> None:
    id_ = client.record("with times", "a test")
    (run_id,) = client.record_runs(id_, [{"key": "a"}]).runs
    clock, losses = ([2, 4], [10.0, 20.5]), ([1, 2, 3, 4], [0.4, 0.3, 0.2, 0.1])
    client.point_sender(run_id).send({"trained_s": clock, "loss": losses})
    send_experiment(client, server, id_)
    (run,), detail = fake.runs.values(), client.run(run_id)
    began = round(1000 * (detail.started_at or detail.created_at).timestamp())
    moments = [(step, at - began) for step, _, at in run["metrics"]["loss"]]
    assert moments == [(1, 0), (2, 10_000), (3, 10_000), (4, 20_500)]


def test_names_that_mlflow_refuses_or_that_become_equal_are_changed(
    client: Client, server: MlflowServer, fake: FakeServer
) -> None:
    id_ = client.record("names", "a test", tags=["a@b"])
    (run_id,) = client.record_runs(id_, [{"key": "a", "tags": ["c@d"]}]).runs
    names = ["a_1", "a@1", "/loss", "b//c/", "..", "d/../e"]
    client.point_sender(run_id).send({name: ([1], [float(at)]) for at, name in enumerate(names)})
    send_experiment(client, server, id_)
    (run,) = fake.runs.values()
    values = {name: value for name, ((_, value, _),) in run["metrics"].items()}
    assert values == {"a_1": 1.0, "a_1_2": 0.0, "loss": 2.0, "b/c": 3.0, "_": 4.0, "d/_/e": 5.0}
    assert "tag.c_d" in run["tags"]


def test_a_run_is_made_once_though_the_answer_is_lost(client: Client, recorded: tuple[int, int]) -> None:
    """Forces the fault: the server makes a run, and its answer does not arrive."""
    fake, lost = FakeServer(), [True]

    def answer(request: httpx.Request) -> httpx.Response:
        found = fake.answer(request)
        if request.url.path.endswith("runs/create") and lost.pop():
            raise httpx.ReadTimeout("no answer")
        return found

    server = MlflowServer("http://mlflow", transport=httpx.MockTransport(answer))
    with pytest.raises(Unreachable):
        send_experiment(client, server, recorded[0])
    assert send_experiment(client, server, recorded[0]) == Sent(1, 0, 2_502)
    assert len(fake.runs) == 1


@pytest.mark.ring("all")
def test_a_call_that_was_cut_is_made_again(
    client: Client, server: MlflowServer, fake: FakeServer, recorded: tuple[int, int]
) -> None:
    """Forces the fault: the server refuses each request from the first, then from the second, ... on."""
    refused = 0
    for fails_at in range(1, 20):
        fake.requests, fake.fails_at = 0, fails_at
        try:
            send_experiment(client, server, recorded[0])
            break
        except BigbatchError:
            refused += 1
    assert refused >= 5
    (run,) = fake.runs.values()
    assert [(step, value) for step, value, _ in run["metrics"]["loss"]] == list(enumerate(LOSSES, 1))
    assert len(run["metrics"]["acc/top 1 _"]) == 2


@pytest.mark.ring("all")
def test_a_server_that_does_not_answer_is_named(client: Client, call: Call, recorded: tuple[int, int]) -> None:
    said = call("export-mlflow", recorded[0], "--to", f"http://127.0.0.1:{free_port()}")
    assert (said.code, "no MLflow answers at" in said.err) == (1, True), said


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """MLflow's own server, in an environment of its own."""
    folder, port = tmp_path_factory.mktemp("mlflow"), free_port()
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    store = [
        "--backend-store-uri",
        f"sqlite:///{folder}/mlflow.db",
        "--artifacts-destination",
        str(folder / "artifacts"),
    ]
    command = [str(python), "-m", "mlflow", "server", "--port", str(port), "--workers", "1", *store]
    url = f"http://127.0.0.1:{port}"
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, env={**os.environ, "GIT_PYTHON_REFRESH": "quiet"}
        )
    try:
        wait_for("MLflow", lambda: answers(f"{url}/health"), 180)
        yield url
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.long
def test_mlflows_own_server_has_every_point(client: Client, call: Call, recorded: tuple[int, int], real: str) -> None:
    for expected in ("1 run (1 new), 2,502 points", "1 run (0 new), 0 points"):
        said = call("export-mlflow", recorded[0], "--to", real, "--name", "from bigbatch")
        assert (said.code, expected in said.out) == (0, True), said
    server = MlflowServer(real)
    (found,) = [one for one in server.experiments() if one.name == "from bigbatch"]
    (run,) = read_mlflow(server, found)
    assert run.recorded().parameters["parameters.lr"] == 0.1
    columns = {name: (steps, values) for name, steps, values in run.columns()}
    assert columns["loss"] == (list(range(1, 2_501)), LOSSES)
    assert [repr(value) for value in columns["acc/top 1 _"][1]] == ["0.5", "nan"]


def test_the_folder_of_a_store_is_no_address(
    client: Client, call: Call, recorded: tuple[int, int], tmp_path: Path
) -> None:
    said = call("export-mlflow", recorded[0], "--to", tmp_path / "mlruns")
    assert said.code == 2, said
