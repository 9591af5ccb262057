"""`bigbatch.config`, `checkpoint_folder` and `resuming`: the run's parameters and checkpoints, inside and outside."""

import copy
import json
import pickle
from pathlib import Path

import pytest

from bigbatch.running.environment import RunEnvironment
from bigbatch.running.parameters import Parameters, read_parameters
from tests.testing.scripts import environment_of, make_run_folder, run_script

VALUES = {"lr": 0.1, "model": {"depth": 3}, "keys": 1, "names": ["a"]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_run_folder(tmp_path / "run")


def test_parameters_are_items_and_attributes() -> None:
    config = Parameters(VALUES)
    assert (config["lr"], config.lr, config.model.depth, config["model"]["depth"]) == (0.1, 0.1, 3, 3)
    assert (config.get("absent", 5), config["keys"], {**config}["lr"], len(config)) == (5, 1, 0.1, 4)
    assert config.to_dict() == VALUES
    assert "lr" in config
    with pytest.raises(AttributeError, match="no parameter 'rate'; its parameters are: lr, model, keys, names"):
        _ = config.rate


def test_parameters_can_be_copied() -> None:
    config = Parameters(VALUES)
    assert copy.deepcopy(config) == config == pickle.loads(pickle.dumps(config))


def test_a_damaged_file_of_parameters_is_an_error_and_no_other_values(tmp_path: Path) -> None:
    path = tmp_path / "parameters.json"
    environment = RunEnvironment(str(tmp_path), 1, 0, 1, str(path))
    assert len(read_parameters(environment)) == 0
    path.write_text("[1]")
    with pytest.raises(ValueError, match="has no object of parameters"):
        read_parameters(environment)
    path.write_text('{"lr": 0.')
    with pytest.raises(ValueError, match=r"line 1 column"):
        read_parameters(environment)


@pytest.mark.parametrize("has_variable", [True, False])
def test_a_script_reads_its_parameters(folder: Path, has_variable: bool) -> None:
    (folder / "parameters.json").write_text(json.dumps(VALUES))
    given = environment_of(folder)
    if has_variable:
        given["BIGBATCH_PARAMETERS"] = str(folder / "parameters.json")
    assert run_script("import bigbatch; print(bigbatch.config.lr, bigbatch.config is bigbatch.config)", given) == (
        "0.1 True\n",
        "",
    )


RESUMING = """
import bigbatch
resuming = bigbatch.resuming
path = bigbatch.checkpoint_folder
(path / "last.pt").write_text("weights")
print(resuming, bigbatch.resuming, path)
"""


def test_a_later_attempt_finds_the_checkpoints_of_the_first_one(folder: Path) -> None:
    for attempt, resuming in ((1, False), (2, True)):
        output, _ = run_script(RESUMING, environment_of(folder, attempt=attempt))
        assert output == f"{resuming} {resuming} {folder / 'checkpoints'}\n"


def test_a_later_attempt_without_a_checkpoint_does_not_resume(folder: Path) -> None:
    (folder / "checkpoints").mkdir()
    code = "import bigbatch; print(bigbatch.resuming)"
    assert run_script(code, environment_of(folder, attempt=2))[0] == "False\n"


def test_by_hand_the_checkpoints_are_in_the_working_folder(tmp_path: Path) -> None:
    assert run_script("import bigbatch; bigbatch.log(loss=1.0)", environment_of(None), cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []
    output, _ = run_script(RESUMING, environment_of(None), cwd=tmp_path)
    assert output == f"False False {tmp_path / 'checkpoints'}\n"


@pytest.mark.ring("all")
def test_the_heavy_names_are_loaded_at_their_first_use() -> None:
    code = "import sys, bigbatch; print('httpx' in sys.modules); bigbatch.Client; print('httpx' in sys.modules)"
    given = environment_of(None)
    from subprocess import run
    from sys import executable

    assert run([executable, "-c", code], env=given, capture_output=True, text=True).stdout == "False\nTrue\n"


def test_a_name_that_needs_the_whole_package_says_so() -> None:
    code = """
import bigbatch
try:
    bigbatch.Client
except ImportError as error:
    print(error)
"""
    assert "install bigbatch in this environment" in run_script(code, environment_of(None))[0]
