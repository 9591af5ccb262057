"""A script that imports bigbatch, as the agent starts it in a run."""

import sys
from pathlib import Path

import pytest

from contract.folder.events import Paused, Points
from tests.testing.programs import agent, events_of, program_folder, run_agent
from tests.testing.scripts import ROOT
from tests.testing.servers import wait_for

VARIABLES = {"variables": {"PYTHONPATH": str(ROOT)}}
LOGS = """
import bigbatch
for step in range(1, 6):
    assert bigbatch.log(step=step, loss=1 / step)
assert bigbatch.config.lr == 0.5 and not bigbatch.resuming
"""
PAUSES = """
import sys, time
import bigbatch
for step in range(1, 100_000):
    bigbatch.log(step=step, loss=1.0)
    if bigbatch.should_pause(step):
        (bigbatch.checkpoint_folder / "last").write_text(str(step))
        sys.exit(4)
    open("begun", "w").close()
    time.sleep(0.01)
"""


def write(tmp_path: Path, script: str) -> list[str]:
    path = tmp_path / "train.py"
    path.write_text(script)
    return [sys.executable, "-S", str(path)]


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("world", [1, 2])
def test_each_rank_logs_into_the_runs_folder(tmp_path: Path, world: int) -> None:
    resources = {"kind": "local", "ranks_per_node": world}
    folder = program_folder(
        tmp_path, write(tmp_path, LOGS), environment=VARIABLES, resources=resources, parameters={"lr": 0.5}
    )
    assert run_agent(folder) == 0
    assert [event.step for event in events_of(folder) if isinstance(event, Points)] == [1, 2, 3, 4, 5]
    path = folder.path / "points" / "rank-1.jsonl"
    assert len(path.read_bytes().splitlines()) == 5 if world == 2 else not path.exists()


def test_a_signal_to_the_agent_pauses_the_script(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, write(tmp_path, PAUSES), environment=VARIABLES)
    with agent(folder) as process:
        wait_for("the first step", (folder.path / "begun").exists)
        process.terminate()
        assert process.wait(300) == 4
    paused = events_of(folder)[-1]
    assert isinstance(paused, Paused)
    assert str(paused.step) == (folder.path / "checkpoints" / "last").read_text()
