"""The environment of a run, and the differences of two runs."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from contract.folder.run_folder import RunFolder
from store.session import transaction
from store.tables.runs import Run
from tests.testing.api import SPEC, post
from tests.testing.snapshots import post_tree
from tests.testing.stored_runs import TO_RUNNING, add_job, move

PROGRAM = """
name: a program
base: {{kind: program, command: "python train.py --lr {{lr}}", launcher: plain, code: {code}, parameters: {{lr: {lr}}}}}
"""


class Runs:
    """Two runs of a program in their first attempt."""

    def __init__(self, client: TestClient, engine: Engine, runs_folder: Path) -> None:
        self.client, self._engine, self._runs_folder = client, engine, runs_folder

    def add(self, code: str, lr: float) -> int:
        answer = post(self.client, PROGRAM.format(code=code, lr=lr))
        assert answer.status_code == 201, answer.text
        (run_id,) = answer.json()["runs"]
        with transaction(self._engine) as db:
            run = db.get_one(Run, run_id)
            add_job(db, run, external_id=f"job{run_id}")
            for state in TO_RUNNING:
                move(db, run, state)
        return int(run_id)

    def folder(self, run_id: int) -> RunFolder:
        with transaction(self._engine) as db:
            return RunFolder.of(self._runs_folder, run_id, db.get_one(Run, run_id).key)

    def record(self, run_id: int, attempt: int = 1, **fields: Any) -> None:
        attempts = self.folder(run_id).path / "attempts"
        attempts.mkdir(parents=True, exist_ok=True)
        document = {"attempt": attempt, "at": 1.0 * run_id, "host": f"n{run_id}", **fields}
        (attempts / f"{attempt}.environment.json").write_text(json.dumps(document))

    def differences(self, first: int, second: int) -> dict[str, Any]:
        answer = self.client.get(f"/api/v1/runs/{first}/differences", params={"other": second})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
def runs(client: TestClient, sqlite_engine: Engine, tmp_path: Path) -> Runs:
    return Runs(client, sqlite_engine, tmp_path / "runs")


def test_the_environment_of_the_latest_attempt_with_a_record_is_returned(runs: Runs, sqlite_engine: Engine) -> None:
    run_id = runs.add(post_tree(runs.client, {"train.py": b"1"}), 0.1)
    path = f"/api/v1/runs/{run_id}/environment"
    assert runs.client.get(path).json() is None
    runs.record(run_id, packages={"torch": "2.9.1"}, kernel="6.1")
    with transaction(sqlite_engine) as db:
        db.get_one(Run, run_id).attempt = 3
    found = runs.client.get(path).json()
    assert (found["attempt"], found["packages"], found["kernel"]) == (1, {"torch": "2.9.1"}, "6.1")
    assert runs.client.get(path, params={"attempt": 3}).json() is None
    assert runs.client.get(path, params={"attempt": 0}).status_code == 422
    assert runs.client.get("/api/v1/runs/99/environment").status_code == 404


def test_two_runs_differ_by_spec_code_and_environment(runs: Runs) -> None:
    first = runs.add(post_tree(runs.client, {"train.py": b"a\n", "lib.py": b"x"}), 0.1)
    second = runs.add(post_tree(runs.client, {"train.py": b"b\n", "lib.py": b"x"}), 0.2)
    own = {"SLURM_JOB_ID": "1", "BIGBATCH_ATTEMPT": "1", "HOSTNAME": "n1", "OMP_NUM_THREADS": "4"}
    runs.record(first, packages={"torch": "2.8.0", "numpy": "2.3"}, variables=own)
    changed = {**own, "SLURM_JOB_ID": "2", "HOSTNAME": "n2", "OMP_NUM_THREADS": "8"}
    runs.record(second, packages={"torch": "2.9.1", "numpy": "2.3"}, variables=changed, modules=["cuda/12"])
    found = runs.differences(first, second)
    assert found["spec"] == [{"path": "parameters.lr", "first": 0.1, "second": 0.2}]
    (file,) = found["code"]["files"]
    assert (file["path"], file["diff"].splitlines()[-2:]) == ("train.py", ["-a", "+b"])
    assert {one["path"]: (one["first"], one["second"]) for one in found["environment"]} == {
        "host": (f"n{first}", f"n{second}"),
        "packages.torch": ("2.8.0", "2.9.1"),
        "modules": ([], ["cuda/12"]),
        "variables.OMP_NUM_THREADS": ("4", "8"),
    }
    assert (found["code_note"], found["environment_note"]) == (None, None)


def test_what_is_not_compared_is_said(runs: Runs) -> None:
    code = post_tree(runs.client, {"train.py": b"a\n"})
    first, second = runs.add(code, 0.1), runs.add(code, 0.1)
    assert post(runs.client, SPEC).status_code == 201
    same, other = runs.differences(first, second), runs.differences(first, second + 1)
    assert (same["spec"], same["code"], same["code_note"]) == ([], None, "both runs have the same code")
    assert same["environment_note"] == f"run {first} has no record of its environment"
    assert other["code_note"] == f"run {second + 1} has no code snapshot"
    assert "kind" in [one["path"] for one in other["spec"]]


@pytest.mark.ring("all")
def test_a_hostile_record_is_bounded_or_ignored(runs: Runs) -> None:
    """The fault: the program overwrites the record of its environment."""
    code = post_tree(runs.client, {"train.py": b"a\n"})
    first, second = runs.add(code, 0.1), runs.add(code, 0.1)
    runs.record(first, variables={f"V{number}": "x" for number in range(400)}, packages={"p": "\x1b[31m" + "1" * 5_000})
    runs.record(second, packages={f"p{number}": "1" for number in range(1_900)})
    found = runs.differences(first, second)
    assert len(found["environment"]) == 1_000
    assert all("\x1b" not in str(one["first"]) and len(str(one["first"])) < 3_000 for one in found["environment"])
    runs.record(second, packages={f"p{number}": "1" for number in range(9_999)})
    assert runs.differences(first, second)["environment_note"] == f"run {second} has no record of its environment"
