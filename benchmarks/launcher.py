"""Start the ranks of a benchmark on the lab's hosts or on this machine, and return the result of rank 0."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from lab import layout
from lab.state_folder import DEFAULT, StateFolder

LAB = Path(os.environ.get("BIGBATCH_LAB") or DEFAULT)


def lab_hosts(count: int) -> list[str]:
    """Return the names of the first `count` hosts of the running lab; raise ValueError if the lab has fewer."""
    running = layout.load(StateFolder(LAB).layout)
    names = [host.name for host in running.hosts] if running else []
    if len(names) < count:
        raise ValueError(f"the benchmark needs {count} hosts, and the lab in {LAB} has {len(names)}: {names}")
    return names[:count]


def on_host(host: str) -> list[str]:
    """Return the command prefix that runs a command on a host of the lab."""
    process = (LAB / "run" / f"slurmd-{host}.pid").read_text().strip()
    return ["nsenter", "--target", process, "--net", "--uts"]


def run_command_on(host: str, *command: str) -> str:
    """Run a command on a host of the lab and return its output."""
    return subprocess.run([*on_host(host), *command], check=True, capture_output=True, text=True).stdout


def shape_links(*rate: str) -> None:
    """Limit the lab's links, by `--rate RATE`, or remove the limit if no words are given."""
    subprocess.run([sys.executable, "-m", "lab", "up", *rate], check=True, stdout=subprocess.DEVNULL)


def run_ranks(
    module: str, hosts: list[str], ranks_per_host: int, task: dict[str, Any], *, timeout_s: float | None = None
) -> Any:
    """Run `main` of `module` once per rank, host by host, and return the JSON in the last line of rank 0's output.

    An empty name in `hosts` means this machine. Raise TimeoutError if rank 0 runs longer than `timeout_s`.
    """
    with tempfile.TemporaryDirectory() as folder:
        rank_hosts = [host for host in hosts for _ in range(ranks_per_host)]
        ranks = [_start(module, host, rank, rank_hosts, folder, task) for rank, host in enumerate(rank_hosts)]
        try:
            out, _ = ranks[0].communicate(timeout=timeout_s)
            for rank in ranks[1:]:
                rank.wait(30)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError(f"{module} ran longer than {error.timeout:g} s") from error
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
    if ranks[0].returncode:
        raise RuntimeError(f"rank 0 of {module} ended with {ranks[0].returncode}")
    return json.loads(out.splitlines()[-1])


def _start(
    module: str, host: str, rank: int, rank_hosts: list[str], folder: str, task: dict[str, Any]
) -> subprocess.Popen[str]:
    environment = {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": str(len(rank_hosts)),
        "STORE": f"{folder}/store",
        "TASK": json.dumps(task),
        "OMP_NUM_THREADS": "1",
        **({"GLOO_SOCKET_IFNAME": "eth0"} if host else {}),
    }
    # a higher priority than other processes of the machine, for all algorithms
    prefix = ["nice", "-n", "-10", *(on_host(host) if host else [])]
    command = [*prefix, sys.executable, "-m", "benchmarks.rank_process", module]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE if rank == 0 else None, text=True)
