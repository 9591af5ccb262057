"""What runs on compute nodes and in users' environments works with the oldest Python: the tools as jobs start them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from contract.folder.events import Points
from scheduler.submit.tools import agent_folder, install_tools
from tests.testing.programs import events_of, kinds_of, program_folder

pytestmark = pytest.mark.ring("gate")
SCRIPT = """
import os, sys, bigbatch
attempt = int(os.environ["BIGBATCH_ATTEMPT"])
for step in range(2 * attempt - 1, 2 * attempt + 3):
    bigbatch.log(loss=1.0 / step, step=step)
open(os.environ["BIGBATCH_RUN_FOLDER"] + "/result", "w").write("done")
sys.exit(0 if attempt == 2 else 1)
"""


@pytest.fixture(scope="module")
def python() -> str:
    """The path of a Python 3.9."""
    ask = ["python3.9", "-c", "import sys; print(sys.executable)"]
    # the variable is for pyenv, which has several versions under one name
    environment = {**os.environ, "PYENV_VERSION": "3.9"}
    is_there = shutil.which("python3.9") is not None
    done = subprocess.run(ask, capture_output=True, text=True, env=environment) if is_there else None
    if done is None or done.returncode:
        pytest.skip("no Python 3.9 is here, and Debian has none to install; ruff checks the syntax anyhow")
    return done.stdout.strip()


def test_two_attempts_of_a_program_run_under_it_from_the_copied_tools(tmp_path: Path, python: str) -> None:
    install_tools(tmp_path)
    (tmp_path / "train.py").write_text(SCRIPT)
    folder = program_folder(tmp_path, [python, str(tmp_path / "train.py")], outputs={"result": "result"})
    for attempt, status in ((1, 1), (2, 0)):
        words = [python, "-I", "-S", "-u", str(agent_folder(tmp_path)), str(folder.path), "--attempt", str(attempt)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done.stderr
    points = [(event.attempt, event.step) for event in events_of(folder) if isinstance(event, Points)]
    assert points == [(1, 1), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (2, 5), (2, 6)]
    assert kinds_of(folder).count("resumed") == 1
    assert (kinds_of(folder)[0], kinds_of(folder)[-1]) == ("started", "finished")
    assert [folder.read_claim(1) is None, folder.read_heartbeat(2) is None] == [False, False]
