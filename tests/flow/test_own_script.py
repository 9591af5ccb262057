"""The page on own scripts, carried out as it stands from a clean folder, on the embedded service."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing.service import Service

pytestmark = pytest.mark.flow
PAGE = (Path(__file__).parents[2] / "docs" / "own-script.md").read_text()
COMMANDS = [line.strip() for line in re.findall(r"^    (bigbatch .*)$", PAGE, re.M)]
STARTS = "bigbatch up"  # the embedded service stands for it


def carry_out(command: str, folder: Path, service: Service) -> str:
    """Run a command of the page in `folder`, by bash, with the service's address; return its output."""
    environment = {**os.environ, "BIGBATCH_URL": service.url, "BIGBATCH_TOKEN": service.token}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_the_steps_of_the_page_lead_to_the_curves_of_a_sweep(embedded: Service, tmp_path: Path) -> None:
    (script,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    (tmp_path / "train.py").write_text(script)
    assert COMMANDS[0] == STARTS
    shown = {command: carry_out(command, tmp_path, embedded) for command in COMMANDS[1:]}
    experiments = {one["id"]: one for one in embedded.get("/experiments")["items"]}
    assert (experiments[1]["name"], experiments[1]["state"], experiments[2]["origin"]) == ("line", "done", 1)
    losses = [embedded.get(f"/runs/{run}/points", name="loss")["series"]["loss"] for run in (1, 2)]
    assert [curve["steps"] for curve in losses] == [list(range(1, 101))] * 2
    slow, fast = (curve["values"][-1] for curve in losses)
    assert fast < slow
    assert "after 100 steps" in shown["bigbatch logs 1"]
    followed = next(text for command, text in shown.items() if " run " in command)
    assert re.search(r"^run 1 lr=0.1: done: loss 0\.\d+$", followed, re.M), followed
    assert " 100 " in shown["bigbatch show 1"]
    assert experiments[4]["name"] == "fit"
    assert embedded.get("/runs/5/log")["text"].strip() == "200"  # what the run before it has prepared
    assert "kind: program" in shown["bigbatch export 1"]


def test_the_script_runs_by_hand_and_writes_nothing_of_the_service(tmp_path: Path) -> None:
    (script,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    (tmp_path / "train.py").write_text(script)
    (by_hand,) = re.findall(r"^    (PYTHONPATH=.*)$", PAGE, re.M)
    folder = Path(__file__).parents[2]
    # -S: a Python without any package
    command = by_hand.replace("~/bigbatch", str(folder)).replace("python3", f"{sys.executable} -S")
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "after 100 steps" in done.stdout
    assert {path.name for path in tmp_path.iterdir()} == {"train.py", "checkpoints"}
