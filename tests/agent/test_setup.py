"""The environment of a rank: each part is set up in its order, and a part that fails ends the rank and is named."""

import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from tests.testing.needs import program
from tests.testing.programs import program_folder, run_agent

MODULE = """#%Module
prepend-path PATH FOLDER
setenv TINY yes
"""


@pytest.fixture
def module_folder(tmp_path: Path) -> Path:
    """Return a folder with a modulefile `tiny/1.0`, which brings the command `tiny`."""
    program("modulecmd")
    folder, commands = tmp_path / "modulefiles", tmp_path / "tiny-1.0"
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny" / "1.0").write_text(MODULE.replace("FOLDER", str(commands)))
    commands.mkdir()
    (commands / "tiny").write_text("#!/bin/sh\necho $TINY, $LOADEDMODULES, $PLACE\n")
    (commands / "tiny").chmod(0o755)
    return folder


def log_of(tmp_path: Path, command: str | list[str], environment: dict[str, Any], *, status: int = 0) -> list[str]:
    """Carry out a run of one rank, which must end with this status; return its log."""
    folder = program_folder(tmp_path, command, environment=environment)
    assert run_agent(folder) == status, folder.log.read_text()
    return folder.log.read_text().splitlines()


def test_modules_are_loaded_after_the_setup_lines_that_name_their_folder(tmp_path: Path, module_folder: Path) -> None:
    environment = {"setup": [f"module use {module_folder}"], "modules": ["tiny/1.0"], "variables": {"PLACE": "here"}}
    assert log_of(tmp_path, "tiny", environment) == ["yes, tiny/1.0, here"]


def test_a_setup_line_may_load_a_module_itself(tmp_path: Path, module_folder: Path) -> None:
    environment = {"setup": [f"export MODULEPATH={module_folder}; module load tiny"], "variables": {"PLACE": "here"}}
    assert log_of(tmp_path, "tiny", environment) == ["yes, tiny/1.0, here"]


def test_a_module_that_is_not_there_ends_the_rank_and_is_named(tmp_path: Path, module_folder: Path) -> None:
    environment = {"setup": [f"module use {module_folder}"], "modules": ["tiny/2.0"]}
    lines = log_of(tmp_path, "true", environment, status=1)
    assert any(line.startswith("bigbatch: `module load` failed for tiny/2.0 on ") for line in lines), lines
    assert "left with status 125" in lines[-1]


def test_a_virtual_environments_python_runs_the_program(tmp_path: Path) -> None:
    venv.create(tmp_path / "own", symlinks=True)
    command = "python -c 'import sys; print(sys.prefix)'"
    assert log_of(tmp_path, command, {"venv": str(tmp_path / "own")}) == [str(tmp_path / "own")]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"venv": "/no/such/place"}, "bigbatch: there is no Python virtual environment in /no/such/place on "),
        ({"setup": ["true", "ls /no/such", "true"]}, "bigbatch: the setup line `ls /no/such` failed with status 2 on "),
        (
            {"conda": "torch", "setup": ["export HOME=/no/such CONDA_EXE=; PATH=/usr/bin:/bin"]},
            "bigbatch: there is no co",  # nor a conda environment of this name, where there is a conda,
        ),
        (
            {"container": {"image": "/no/such.sif"}, "setup": ["PATH=/usr/bin:/bin"]},
            "bigbatch: there is no command `apptainer` on ",
        ),
    ],
    ids=["venv", "setup", "conda", "container"],
)
def test_a_part_that_fails_is_named(tmp_path: Path, environment: dict[str, Any], message: str) -> None:
    lines = log_of(tmp_path, "true", environment, status=1)
    assert any(line.startswith(message) for line in lines), lines


def test_a_program_without_set_up_gets_its_variables_alone(tmp_path: Path) -> None:
    environment = {"variables": {"A": "it's", "B": "two words"}}
    assert log_of(
        tmp_path, [sys.executable, "-c", "import os; print(os.environ['A'], os.environ['B'])"], environment
    ) == ["it's two words"]
