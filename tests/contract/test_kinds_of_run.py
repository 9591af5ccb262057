"""What the service asks of a run whatever its kind: the answers of an engine run and of a program."""

from pathlib import Path
from typing import Any

import pytest

from contract.reuse.engine_code import engine_code
from contract.spec.any_run import AnyRun, read_run
from contract.spec.base_run import CodeStart
from contract.spec.run import RunSpec

pytestmark = pytest.mark.ring("quick")

CODE = "5e" * 32
ENGINE = read_run(
    {
        "optimizer": {"kind": "sgd"},
        "schedule": {"kind": "constant", "rate": 0.05},
        "batch": 64,
        "epochs": 2,
        "initial_weights": {"run": 7},
    }
)
PROGRAM = read_run({"kind": "program", "command": "./bin/train --lr 0.1", "launcher": "mpirun", "code": CODE})


@pytest.mark.parametrize(
    ("name", "of_engine", "of_program"),
    [
        ("snapshot", None, CODE),
        ("code_start", None, CodeStart(CODE, "", "./bin/train")),
        ("computing_code", engine_code(), CODE),
        ("total_epochs", 2, None),
        ("names_own_metrics", False, True),
        ("needs_tools", False, True),
        ("survives_workers", False, False),
        ("imports", {}, {}),
        ("script_parts", [], ["mpirun", []]),
    ],
)
def test_each_kind_answers(name: str, of_engine: Any, of_program: Any) -> None:
    assert [getattr(run, name) for run in (ENGINE, PROGRAM)] == [of_engine, of_program]


def test_each_kind_describes_its_work() -> None:
    assert [run.describe_work() for run in (ENGINE, PROGRAM)] == ["44 steps of 64", "a program by mpirun"]


def test_a_program_starts_from_no_weights_and_cannot_be_extended() -> None:
    assert ENGINE.weights_source is not None
    assert [ENGINE.weights_source.run, PROGRAM.weights_source] == [7, None]
    assert list(ENGINE.extension_issues(4)) == []
    assert [issue.path for issue in PROGRAM.extension_issues(4)] == ["epochs"]


def test_only_mpirun_keeps_a_run_from_sharing_a_job() -> None:
    assert PROGRAM.sharing_obstacle is not None
    assert ENGINE.sharing_obstacle is None
    assert read_run({"kind": "program", "command": "true"}).sharing_obstacle is None


def test_a_run_accepts_new_data_once() -> None:
    changed = ENGINE.new_data_fields()
    assert changed is not None
    accepting = read_run({**ENGINE.model_dump(mode="json"), **changed})
    assert isinstance(accepting, RunSpec)
    assert accepting.checkpoint.accept_new_data
    assert accepting.new_data_fields() is None
    assert PROGRAM.new_data_fields() is None


def test_the_files_of_a_program_are_looked_for(tmp_path: Path) -> None:
    absent: AnyRun = read_run({"kind": "program", "command": "true", "working_folder": str(tmp_path / "absent")})
    assert [issue.path for issue in absent.file_issues(tmp_path)] == ["working_folder"]
    assert list(ENGINE.file_issues(tmp_path)) == []
