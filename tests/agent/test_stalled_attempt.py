"""An attempt of a user's script with a stopped rank: the agent ends it, and the run's page names the rank."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from contract.diagnosis.diagnose import EndedAttempt, diagnose_failure
from contract.folder.run_folder import RunFolder
from contract.lifecycle.exit_cause import ExitCause
from contract.lifecycle.failure import FailureKind
from scheduler.submit.tools import agent_folder, install_tools
from tests.testing.programs import events_of, program_folder
from tests.testing.servers import wait_for

LIMIT_S, LATE_S = 6.0, 10.0
TRAIN = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

def main():
    dist.init_process_group("gloo")
    model = DistributedDataParallel(torch.nn.Linear(64, 8))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    while True:
        optimizer.zero_grad()
        model(torch.randn(4, 64)).square().mean().backward()
        optimizer.step()

main()
"""


def start(runs: Path, **fields: object) -> tuple[RunFolder, "subprocess.Popen[bytes]"]:
    """Start the agent from the tools that the scheduler installs, with two ranks of the script."""
    install_tools(runs)
    (runs / "train.py").write_text(TRAIN)
    resources = {"kind": "local", "ranks_per_node": 2}
    command = [sys.executable, str(runs / "train.py")]
    folder = program_folder(runs, command, resources=resources, stall_minutes=LIMIT_S / 60, **fields)
    words = [sys.executable, "-I", "-S", "-u", str(agent_folder(runs)), str(folder.path), "--attempt", "1"]
    with folder.open_log_for_append() as log:
        return folder, subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, process_group=0)


def note_of(folder: RunFolder, rank: int) -> dict[str, int]:
    path = folder.path / "attempts" / f"1.progress-{rank}"
    note: dict[str, int] = json.loads(path.read_text()) if path.exists() else {}
    return note


@pytest.mark.ring("all")
def test_the_agent_ends_an_attempt_with_a_stopped_rank_and_names_it(tmp_path: Path) -> None:
    folder, agent = start(tmp_path)
    try:
        wait_for("steps of both ranks", lambda: all(note_of(folder, rank).get("steps", 0) > 1 for rank in (0, 1)), 300)
        os.kill(note_of(folder, 1)["pid"], signal.SIGSTOP)
        stopped_at = time.monotonic()
        assert agent.wait(300) == 1
        assert time.monotonic() - stopped_at < LIMIT_S + LATE_S
    finally:
        agent.kill()
        agent.wait()
    failed = events_of(folder)[-1].model_dump()
    assert (failed["kind"], failed["rank"], failed["failure"]) == ("failed", 1, "collective_timeout")
    found = diagnose_failure(folder, EndedAttempt(1, ExitCause.FAILURE, failed["reason"], ["n1"], "local"))
    assert found is not None
    assert (found.rank, found.kind) == (1, FailureKind.COLLECTIVE_TIMEOUT)
    assert "rank 0 waits in all_reduce" in found.reason
    assert "train.py" in found.evidence
    assert all("train.py" in (folder.path / "attempts" / f"1.stacks-{rank}.txt").read_text() for rank in (0, 1))
    assert (folder.path / "times.csv").exists()
