"""A script's `bigbatch` uses the project's `runfiles`, whatever modules the program has."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scheduler.submit.tools import agent_folder, install_tools

pytestmark = pytest.mark.ring("quick")
ROOT = Path(__file__).parents[3]
CODE = """
import bigbatch, runfiles, sys
bigbatch.log(loss=1.0, step=3)
print(runfiles.OWN, "runfiles.history" in sys.modules)
"""


@pytest.mark.parametrize("place", ["tools", "checkout"])
def test_a_module_of_the_program_that_is_called_runfiles_stays_its_own(tmp_path: Path, place: str) -> None:
    install_tools(tmp_path)
    path = agent_folder(tmp_path).parent / "python" if place == "tools" else ROOT
    folder = tmp_path / "run"
    folder.mkdir()
    (tmp_path / "train.py").write_text(CODE)
    (tmp_path / "runfiles.py").write_text("OWN = 'own'\n")
    environment = {**os.environ, "PYTHONPATH": str(path), "BIGBATCH_RUN_FOLDER": str(folder), "BIGBATCH_ATTEMPT": "2"}
    words = [sys.executable, "-S", str(tmp_path / "train.py")]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert (done.stdout, done.stderr) == ("own False\n", "")
    assert b'"step":3' in (folder / "events.jsonl").read_bytes()


def test_the_tools_put_no_other_name_on_the_path_of_programs(tmp_path: Path) -> None:
    install_tools(tmp_path)
    found = {path.name for path in (agent_folder(tmp_path).parent / "python").iterdir()}
    assert found - {"__pycache__"} == {"bigbatch", "sitecustomize.py"}
