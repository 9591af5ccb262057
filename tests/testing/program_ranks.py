"""The ranks of a user's script with the environment that the agent gives to them, without an agent."""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
START = ROOT / "bigbatch" / "injected" / "sitecustomize.py"


def start_ranks(
    folder: Path, script: Path, *, world: int, attempt: int = 1, **variables: str
) -> list[subprocess.Popen[str]]:
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
    return [
        subprocess.Popen(
            [sys.executable, str(script)],
            env={**os.environ, **shared, "RANK": str(rank), "LOCAL_RANK": str(rank), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world)
    ]


def run_ranks(folder: Path, script: Path, *, world: int, attempt: int = 1, **variables: str) -> list[str]:
    """Return the output of each rank after all ranks have ended without an error."""
    ranks = start_ranks(folder, script, world=world, attempt=attempt, **variables)
    outputs = [rank.communicate()[0] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [0] * world, outputs
    return outputs


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
