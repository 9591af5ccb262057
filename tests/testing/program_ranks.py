"""The ranks of a user's script with the environment that the agent gives to them, without an agent."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
START = ROOT / "bigbatch" / "injected" / "sitecustomize.py"


@dataclass(frozen=True)
class Ranks:
    """The processes of a script's ranks, in rank order."""

    folder: Path
    processes: list[subprocess.Popen[str]]

    def await_files(self, names: Sequence[str], timeout_s: float = 300.0) -> None:
        """Wait until the ranks have written files into the run folder; fail if a rank ends before."""
        until = time.monotonic() + timeout_s
        while not all((self.folder / name).exists() for name in names):
            assert all(process.poll() is None for process in self.processes), self.outputs()
            assert time.monotonic() < until
            time.sleep(0.05)

    def outputs(self) -> list[str]:
        """Kill the ranks and return what they have printed."""
        self.kill()
        return [process.communicate()[0] for process in self.processes]

    def kill(self) -> None:
        """End all ranks."""
        for process in self.processes:
            process.kill()
            process.wait()


def start_ranks(folder: Path, script: Path, *, world: int, attempt: int = 1, **variables: str) -> Ranks:
    """Start a script's ranks on this host, in the run folder `folder`, with the time split."""
    (folder / "attempts").mkdir(parents=True, exist_ok=True)
    tools = folder.parent / "tools"
    tools.mkdir(exist_ok=True)
    shutil.copy(START, tools)
    shared = {
        "PYTHONPATH": os.pathsep.join([str(tools), str(ROOT)]),
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": str(world),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(_free_port()),
        "OMP_NUM_THREADS": "1",
        "BIGBATCH_RUN_FOLDER": str(folder),
        "BIGBATCH_ATTEMPT": str(attempt),
        "BIGBATCH_TIME_SPLIT": "1",
    }
    processes = [
        subprocess.Popen(
            [sys.executable, str(script)],
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world)
    ]
    return Ranks(folder, processes)


def run_ranks(folder: Path, script: Path, *, world: int, attempt: int = 1, **variables: str) -> list[str]:
    """Return the output of each rank after all ranks have ended without an error."""
    processes = start_ranks(folder, script, world=world, attempt=attempt, **variables).processes
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * world, outputs
    return outputs


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
