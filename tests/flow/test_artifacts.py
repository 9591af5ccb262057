"""Artifacts and reuse from a POST to the end, on the embedded service with real ranks: an engine run and a program."""

import io
import json
import tarfile
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.testing.servers import wait_for
from tests.testing.service import ENDED, Service

pytestmark = pytest.mark.flow
ENGINE: dict[str, Any] = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.1},
    "batch": 64,
    "epochs": 1,
    "checkpoint": {"at_end": True},
    "outputs": {"weights": "checkpoints"},
    "resources": {"kind": "local", "ranks_per_node": 2},
    "reuse": True,
}


def submit(service: Service, base: dict[str, Any], *, force: bool = False) -> dict[str, Any]:
    """POST an experiment of one run; return the run when it has ended."""
    (run_id,) = service.post(json.dumps({"name": "artifacts", "base": base}), force=force)
    wait_for(f"the end of run {run_id}", lambda: service.get(f"/runs/{run_id}")["state"] in ENDED, 300)
    run: dict[str, Any] = service.get(f"/runs/{run_id}")
    return run


def artifacts_of(service: Service, run: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in service.get(f"/runs/{run['id']}/artifacts")["items"]}


def test_an_engine_run_hands_on_its_weights_and_an_equal_one_takes_its_result(embedded: Service) -> None:
    first = submit(embedded, ENGINE)
    assert (first["state"], first["attempt"]) == ("done", 1), first["reason"]
    found = artifacts_of(embedded, first)
    (checkpoint,) = (name for name in found if name.startswith("step-"))
    assert {name: one["kind"] for name, one in found.items()} == {"weights": "folder", checkpoint: "checkpoint"}
    archive = embedded.ask("GET", f"/runs/{first['id']}/artifacts/weights").content
    with tarfile.open(fileobj=io.BytesIO(archive)) as opened:
        assert f"weights/{checkpoint}/manifest.json" in opened.getnames()
    second = submit(embedded, ENGINE)
    assert (second["state"], second["attempt"], second["job_id"]) == ("done", 0, None)
    assert second["reason"].startswith(f"taken from run {first['id']}")
    assert second["latest"] == first["latest"]
    curves = [embedded.get(f"/runs/{run['id']}/points", name="loss")["series"] for run in (first, second)]
    assert curves[0] == curves[1]
    assert len(curves[0]["loss"]["steps"]) == first["steps"]
    taken = artifacts_of(embedded, second)
    assert (taken["weights"]["run"], taken["weights"]["sha256"]) == (first["id"], found["weights"]["sha256"])
    forced = submit(embedded, ENGINE, force=True)
    assert (forced["state"], forced["attempt"]) == ("done", 1)
    assert forced["latest"]["loss"] == first["latest"]["loss"]  # equal seeds give equal runs
    other = submit(embedded, {**ENGINE, "seed": 1})
    assert other["attempt"] == 1
    why = embedded.get(f"/runs/{other['id']}/reuse")
    assert why["sentence"] == f"carried out: seed is 1 and was 0 (against run {forced['id']})"


def test_a_program_is_carried_out_again_only_if_its_input_changed(embedded: Service, tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_text("one\n")
    command = "tr a-z A-Z < {inputs.data} > {outputs.upper}"
    code = _snapshot(embedded)
    program: dict[str, Any] = {
        "kind": "program",
        "command": command,
        "launcher": "plain",
        "code": code,
        "inputs": {"data": str(data)},
        "outputs": {"upper": "upper.txt"},
        "resources": {"kind": "local"},
        "reuse": True,
    }
    first = submit(embedded, program)
    assert (first["state"], first["attempt"]) == ("done", 1), first["reason"]
    assert embedded.ask("GET", f"/runs/{first['id']}/artifacts/upper").text == "ONE\n"
    assert artifacts_of(embedded, first)["upper"]["sha256"] == sha256(b"ONE\n").hexdigest()
    began = time.monotonic()
    assert submit(embedded, program)["attempt"] == 0
    print(f"the second time took {time.monotonic() - began:.2f} s")
    data.write_text("two\n")
    changed = submit(embedded, program)
    assert (changed["state"], changed["attempt"]) == ("done", 1)
    assert embedded.ask("GET", f"/runs/{changed['id']}/artifacts/upper").text == "TWO\n"
    why = embedded.get(f"/runs/{changed['id']}/reuse")
    assert why["sentence"].startswith("carried out: the input 'data' changed (against run")
    (Path(first["folder"]) / "upper.txt").unlink()
    data.write_text("one\n")
    again = submit(embedded, program)  # the output of the first run is gone
    assert (again["state"], again["attempt"]) == ("done", 1)


def test_a_program_that_leaves_out_an_output_fails_and_says_which(embedded: Service) -> None:
    base = {"kind": "program", "command": "true", "launcher": "plain", "resources": {"kind": "local"}}
    run = submit(embedded, {**base, "outputs": {"model": "out/model.pt"}})
    assert run["state"] == "failed"
    assert run["reason"] == "the output 'model' (out/model.pt) is missing: there is no such file or folder"


def _snapshot(service: Service) -> str:
    """Store an empty tree as a client does; return its hash."""
    answer = service.ask("POST", "/snapshots", json={"files": []})
    assert answer.json()["is_stored"], answer.text
    return str(answer.json()["hash"])
