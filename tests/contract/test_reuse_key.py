"""The key of what a run computes: a table of what changes it and what does not; and who may ask for a result."""

from typing import Any

import pytest
from pydantic import ValidationError

from contract.reuse.key import reuse_key
from contract.spec import run as run_module
from contract.spec.any_run import read_run
from contract.spec.expanded import read_experiment
from contract.spec.program.run import ProgramSpec
from contract.validation import issues_of
from tests.testing.specs import small_experiment

pytestmark = pytest.mark.ring("quick")

CODE, OTHER = "5e" * 32, "6f" * 32
SLURM = {"kind": "slurm", "nodes": 2, "ranks_per_node": 2}
ENGINE: dict[str, Any] = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 64,
    "epochs": 2,
    "resources": SLURM,
    "outputs": {"weights": "checkpoints"},
    "inputs": {"data": "/data/a"},
}
PROGRAM: dict[str, Any] = {
    "kind": "program",
    "command": "train {lr} {inputs.data}",
    "parameters": {"lr": 0.1},
    "code": CODE,
    "resources": SLURM,
    "inputs": {"data": "/data/a"},
}
INPUTS = {"data": "0" * 64}


def key_of(base: dict[str, Any], change: dict[str, Any] | None = None, inputs: dict[str, str] | None = None) -> str:
    key = reuse_key(read_run({**base, **(change or {})}), INPUTS if inputs is None else inputs)
    assert key is not None
    return key


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"batch": 128},
        {"epochs": 3},
        {"optimizer": {"kind": "sgd", "momentum": 0.5}},
        {"precision": "bfloat16"},
        {"resources": {**SLURM, "nodes": 4, "ranks_per_node": 1}},
        {"resources": {**SLURM, "partition": "other"}},
        {"resources": {"kind": "local", "ranks_per_node": 4}},
        {"checkpoint": {"at_end": True}},
        {"outputs": {"weights": "checkpoints", "more": "more"}},
    ],
)
def test_each_field_that_may_change_the_result_of_the_engine_changes_the_key(change: dict[str, Any]) -> None:
    assert key_of(ENGINE, change) != key_of(ENGINE)


@pytest.mark.parametrize(
    "change",
    [
        {"command": "train {lr}  {inputs.data}"},
        {"parameters": {"lr": 0.2}},
        {"code": OTHER},
        {"environment": {"variables": {"OMP_NUM_THREADS": "2"}}},
        {"launcher": "torchrun"},
        {"resources": {**SLURM, "gres": "gpu:1"}},
        {"outputs": {"model": "model.pt"}},
    ],
)
def test_each_field_that_may_change_the_result_of_a_program_changes_the_key(change: dict[str, Any]) -> None:
    assert key_of(PROGRAM, change) != key_of(PROGRAM)


@pytest.mark.parametrize(
    "change",
    [
        {"retries": {"failure": 7}},
        {"keep": {"kind": "last", "runs": 3}},
        {"reuse": True},
        {"resources": {**SLURM, "minutes": 7, "memory_gb": 8, "account": "a", "qos": "b"}},
        {"inputs": {"data": "/elsewhere/b"}},
    ],
)
@pytest.mark.parametrize("base", [ENGINE, PROGRAM], ids=["engine", "program"])
def test_what_decides_only_when_a_run_starts_or_what_remains_does_not_change_the_key(
    base: dict[str, Any], change: dict[str, Any]
) -> None:
    assert key_of(base, change) == key_of(base)


@pytest.mark.parametrize("default", [{"seed": 0}, {"label_smoothing": 0.0}, {"rule": {"kind": "sync"}}])
def test_a_default_that_is_written_out_does_not_change_the_key(default: dict[str, Any]) -> None:
    assert key_of(ENGINE, default) == key_of(ENGINE)


def test_a_changed_byte_and_another_name_of_an_input_change_the_key() -> None:
    assert key_of(ENGINE, inputs={"data": "1" + "0" * 63}) != key_of(ENGINE)
    renamed = {**ENGINE, "inputs": {"other": "/data/a"}}
    assert key_of(renamed, inputs={"other": "0" * 64}) != key_of(ENGINE)


def test_inputs_without_a_hash_give_no_key() -> None:
    assert reuse_key(read_run(ENGINE), {}) is None


def test_other_code_of_the_engine_changes_the_key_of_engine_runs_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of(ENGINE), key_of(PROGRAM)
    monkeypatch.setattr(run_module, "engine_code", lambda: OTHER)
    assert key_of(ENGINE) != before[0]
    assert key_of(PROGRAM) == before[1]


def test_labels_of_the_experiment_do_not_change_the_key() -> None:
    keys = set()
    for name in ("one", "two"):
        made = small_experiment()
        named = read_experiment({**made.spec.model_dump(mode="json"), "name": name, "tags": [name]})
        keys |= {reuse_key(run, {}) for _, run in named.points}
    assert len(keys) == 1


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"kind": "program", "command": "true"}, "without a code snapshot"),
        ({**ENGINE, "model": {"kind": "import", "function": "mine:net"}}, "own parts"),
        (
            {
                **ENGINE,
                "inputs": {},
                "model": {"kind": "gnmt"},
                "data": {"kind": "pairs", "path": "/data/a.tsv", "train_samples": 64, "heldout_samples": 8},
            },
            "the data in /data/a.tsv may change",
        ),
    ],
)
def test_a_run_whose_code_or_data_nobody_knows_may_not_ask_for_a_result(document: dict[str, Any], message: str) -> None:
    run = read_run(document)
    assert reuse_key(run, dict.fromkeys(run.inputs, "0" * 64)) is None
    with pytest.raises(ValidationError) as refused:
        read_run({**document, "reuse": True})
    assert [issue.path for issue in issues_of(refused.value)] == ["reuse"]
    assert message in str(refused.value)


def test_an_input_that_covers_the_data_set_lets_a_run_ask() -> None:
    data = {"kind": "pairs", "path": "/data/set/a.tsv", "train_samples": 64, "heldout_samples": 8}
    engine = {**ENGINE, "data": data, "model": {"kind": "gnmt"}, "reuse": True}
    for path in ("/data/set", "/data/set/a.tsv"):
        assert read_run({**engine, "inputs": {"data": path}})
    with pytest.raises(ValidationError, match="may change"):
        read_run({**engine, "inputs": {"data": "/data/se"}})


@pytest.mark.parametrize("path", ["/", "/data/../etc", "data", "/../.."])
def test_an_input_is_an_absolute_path_without_detours(path: str) -> None:
    with pytest.raises(ValidationError):
        ProgramSpec.model_validate({**PROGRAM, "inputs": {"data": path}})
