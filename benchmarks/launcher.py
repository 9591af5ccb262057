"""Starts the ranks of a benchmark on the lab's hosts, or on this machine, and waits for what rank 0 found."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

LAB = Path(os.environ.get("BIGBATCH_LAB", "/var/lib/bigbatch-lab"))


def on_host(host: str) -> list[str]:
    """The words before a command that make it run on a host of the lab."""
    process = (LAB / "run" / f"slurmd-{host}.pid").read_text().strip()
    return ["nsenter", "--target", process, "--net", "--uts"]


def on_ranks(module: str, hosts: list[str], ranks_per_host: int, task: dict[str, Any]) -> Any:
    """Run `python -m module` once per rank, host by host, and return the JSON that rank 0 prints last.

    An empty name among `hosts` is this machine itself.
    """
    with tempfile.TemporaryDirectory() as folder:
        places = [host for host in hosts for _ in range(ranks_per_host)]
        ranks = [_start(module, host, rank, places, folder, task) for rank, host in enumerate(places)]
        try:
            out, _ = ranks[0].communicate()
            for rank in ranks[1:]:
                rank.wait(30)
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
    if ranks[0].returncode:
        raise RuntimeError(f"rank 0 of {module} ended with {ranks[0].returncode}")
    return json.loads(out.splitlines()[-1])


def _start(
    module: str, host: str, rank: int, places: list[str], folder: str, task: dict[str, Any]
) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": str(len(places)),
        "STORE": f"{folder}/store",
        "TASK": json.dumps(task),
        "OMP_NUM_THREADS": "1",
        **({"GLOO_SOCKET_IFNAME": "eth0"} if host else {}),
    }
    # ahead of whatever else the machine does, all algorithms alike
    command = ["nice", "-n", "-10", *(on_host(host) if host else []), sys.executable, "-m", module]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE if rank == 0 else None, text=True)
