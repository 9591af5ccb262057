"""The environment of a rank: each part is set up in its order, and a part that fails ends the rank and is named."""

import os
import sys
import venv
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.testing.needs import program
from tests.testing.other_user import run_as_other_user
from tests.testing.programs import agent, program_folder, run_agent
from tests.testing.servers import wait_for

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


SECRET = "s3cret-of-this-test"
LOOK = r"""
import glob
for place in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        words = open(place, "rb").read()
    except OSError:
        continue
    if b"%s" in words and b"import glob" not in words:
        print(words)
"""


@pytest.mark.parametrize("padding", [0, 32], ids=["short", "longer than a variable"])
def test_no_list_of_processes_has_what_the_set_up_exports(tmp_path: Path, padding: int) -> None:
    """The attack: another user lists the arguments of all processes while a rank is set up and while it runs."""
    (tmp_path / "go").mkdir()
    wait = f"until [ -e {tmp_path}/go/on ]; do sleep 0.01; done"
    environment = {
        "setup": [f"export OF_SETUP={SECRET}", *[f"true {'x' * 4000}"] * padding, f"touch {tmp_path}/go/set-up", wait],
        "variables": {"OF_VARIABLES": SECRET},
    }
    command = f"env > seen; touch {tmp_path}/go/run; {wait.replace('/on', '/end')}; true"
    folder = program_folder(tmp_path, command, environment=environment, parameters={"key": SECRET})
    looked = []
    with agent(folder) as child:
        for begun, release in (("set-up", "on"), ("run", "end")):
            wait_for(begun, (tmp_path / "go" / begun).exists)
            looked.append(run_as_other_user(LOOK % SECRET) if os.geteuid() == 0 else list_arguments())
            (tmp_path / "go" / release).touch()
        assert child.wait(60) == 0, folder.log.read_text()
    assert looked == ["", ""]
    seen = (folder.path / "seen").read_text()
    assert f"OF_SETUP={SECRET}\n" in seen
    assert f"OF_VARIABLES={SECRET}\n" in seen
    assert "BIGBATCH_SETUP_SCRIPT" not in seen
    for path in (folder.path / "attempts").glob("*setup*"):
        assert path.stat().st_mode & 0o077 == 0


def list_arguments() -> str:
    """Return the arguments of this user's processes that have the secret."""
    found = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    return "".join(repr(words) for words in found if SECRET in " ".join(words))
