"""The service that the benchmark measures, and Slurm's queue as Slurm itself shows it."""

import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil

CLOSED = "urgent"  # a partition that accepts jobs and starts none
SETUP = "export GLOO_SOCKET_IFNAME=eth0;;export OMP_NUM_THREADS=1"


@contextmanager
def service(home: Path) -> Iterator[tuple[httpx.Client, psutil.Process]]:
    """Run the service with SQLite and a folder as broker, as on a laptop; yield a client of it and its process."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    environment = {**os.environ, "BIGBATCH_HOME": str(home), "BIGBATCH_SLURM": "true", "BIGBATCH_SLURM_SETUP": SETUP}
    command = [sys.executable, "-m", "bigbatch.cli", "up", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        process.stdout.readline()  # the service prints its URL when it is ready
        time.sleep(5)
        headers = {"authorization": f"Bearer {(home / 'token').read_text()}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
            yield client, psutil.Process(process.pid)
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def closed(partition: str) -> Iterator[None]:
    """Set a partition down, so that jobs only wait; afterwards remove the jobs and set the partition up."""
    output("scontrol", "update", f"PartitionName={partition}", "State=DOWN")
    try:
        yield
    finally:
        clear()
        output("scontrol", "update", f"PartitionName={partition}", "State=UP")


def post(client: httpx.Client, document: dict[str, Any]) -> Any:
    """Submit an experiment; return the response."""
    return client.post("/api/v1/experiments", json=document).raise_for_status().json()


def counts(client: httpx.Client, id_: int) -> dict[str, int]:
    """Return the number of runs of an experiment by state."""
    return dict(client.get(f"/api/v1/experiments/{id_}").raise_for_status().json()["counts"])


def slurm_calls(client: httpx.Client) -> dict[str, int]:
    """Return the number of calls of each Slurm command, from the service's metrics."""
    calls: dict[str, int] = {}
    for command, count in re.findall(r'calls_total{.*command="(\w+)".*} (\d+)', client.get("/metrics").text):
        calls[command] = calls.get(command, 0) + int(count)
    return calls


def cpu_s(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and all its children, ended children included."""
    return sum(sum(member.cpu_times()[:4]) for member in [process, *process.children(recursive=True)])


def children_cpu_s() -> float:
    """Return the CPU seconds of this process's children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def queued() -> int:
    """Return the number of this user's jobs in Slurm, array tasks counted one by one."""
    return len(output("squeue", "--me", "-h", "-r", "-t", "PENDING,RUNNING,COMPLETING", "-o", "%i").splitlines())


def clear() -> None:
    """Cancel the jobs in the closed partition; return when Slurm has none."""
    subprocess.run(["scancel", "--me", f"--partition={CLOSED}"], check=True)
    while queued():
        time.sleep(0.5)


def output(*command: str) -> str:
    """Run a command; return what it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
