"""The launcher torchrun on one machine, with DDP on gloo: each rank's end is recorded, also a pause."""

import sys
from pathlib import Path

import pytest

from contract.lifecycle.failure import FailureKind
from tests.testing.programs import agent, events_of, kinds_of, program_folder, run_agent, wait_for_line

TWO = {"kind": "local", "ranks_per_node": 2}
DDP = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
total = torch.ones(1)
dist.all_reduce(total)
open("rank-" + os.environ["RANK"], "w").write(str(total.item()))
dist.destroy_process_group()
"""
ENVIRONMENT = {"venv": str(Path(sys.executable).parents[1])}


@pytest.mark.ring("all")
@pytest.mark.parametrize("launcher", ["srun", "torchrun"])
def test_a_ddp_script_runs_unchanged(tmp_path: Path, launcher: str) -> None:
    (tmp_path / "ddp.py").write_text(DDP)
    command = ["python", str(tmp_path / "ddp.py")]
    folder = program_folder(tmp_path, command, launcher=launcher, resources=TWO, environment=ENVIRONMENT)
    assert run_agent(folder) == 0, folder.log.read_text()
    assert [(folder.path / f"rank-{rank}").read_text() for rank in range(2)] == ["2.0", "2.0"]
    assert kinds_of(folder) == ["started", "finished"]


@pytest.mark.ring("all")
@pytest.mark.parametrize("inherited", [{}, {"PMIX_RANK": "0", "PMI_RANK": "0"}], ids=["plain", "under PMIx"])
def test_a_rank_that_a_signal_ends_is_named(tmp_path: Path, inherited: dict[str, str]) -> None:
    """Where srun's default is PMIx, torchrun and its ranks inherit the rank of torchrun's agent."""
    command = "if [ $RANK = 1 ]; then kill -KILL $$; fi; sleep 600; true"
    folder = program_folder(tmp_path, command, launcher="torchrun", resources=TWO, environment=ENVIRONMENT)
    assert run_agent(folder, environment=inherited) == 1
    first = folder.read_rank_failures(1)[0]
    assert (first.rank, first.kind) == (1, FailureKind.SIGNAL)


@pytest.mark.ring("all")
def test_a_warning_reaches_the_ranks_of_torchrun_and_they_pause(tmp_path: Path) -> None:
    code = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGUSR2, lambda *_: sys.exit(4))\n"
        "print('ready', flush=True)\ntime.sleep(600)"
    )
    command = ["python", "-c", code]
    folder = program_folder(tmp_path, command, launcher="torchrun", resources=TWO, environment=ENVIRONMENT)
    with agent(folder) as child:
        wait_for_line(folder, "ready", 2)
        child.send_signal(12)
        assert child.wait(300) == 4
    assert events_of(folder)[-1].kind == "paused"


def test_an_environment_without_torchrun_says_so(tmp_path: Path) -> None:
    folder = program_folder(tmp_path, ["true"], launcher="torchrun", environment={"variables": {"PATH": "/bin"}})
    assert run_agent(folder) == 1
    (failure,) = folder.read_rank_failures(1)
    assert failure.kind is FailureKind.WRONG_ENVIRONMENT
    assert "torchrun" in failure.reason
