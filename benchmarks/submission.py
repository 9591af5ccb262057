"""A sweep of 1,000 runs to Slurm's queue, and one run to its first step: `make bench NAME=submission`, four minutes.

Beside what a user would take instead: a loop of sbatch, and submitit's map_array, in the same run on the same cluster.
Needs the lab (python -m lab up) and a shell that it is known to (eval "$(python -m lab env)").
"""

import json
import multiprocessing
import os
import platform
import re
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import psutil
from submitit.slurm.slurm import SlurmExecutor

from contract.folder.events import Points, reader
from contract.folder.run_folder import RunFolder
from contract.spec.experiment import ExperimentSpec
from trainers.job import carry_out

RUNS, PAIRS, SHUT = 1000, 7, "urgent"  # a partition that takes jobs and starts none
APART_S = 18.0  # from pair to pair: runs one by one must not meet the budget of calls, which is another question
HANDED_S: list[float] = []  # of each run of ours, from POST until Slurm had it
RESULT = Path(__file__).parent / "results" / "submission.json"
BASE = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 64,
    "epochs": 1,
    "resources": {"kind": "slurm", "partition": "gpu"},
}


def main() -> None:
    """Measure, print the table and write the report."""
    if not os.environ.get("SLURM_CONF"):
        sys.exit('no cluster: python -m lab up; eval "$(python -m lab env)"')
    with tempfile.TemporaryDirectory(prefix="bigbatch-submission-") as home:
        report = measure(Path(home))
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    versions = {"submitit": version("submitit"), "python": platform.python_version(), "slurm": _told("sinfo", "-V")}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"machine": machine, "versions": versions, **report}, indent=1) + "\n")
    for name, row in report["sweep"].items():
        print(f"{name:10} {row['seconds']:6.2f} s to the queue, {row['calls']:4} calls, {row['cpu_s']:6.2f} CPU s")
    first = report["first_step"]
    print(
        f"first step after {first['ratio']:.2f} x of what submitit takes ({first['least']:.2f} to {first['most']:.2f})"
    )


def measure(home: Path) -> dict[str, Any]:
    with service(home) as (url, process):
        with shut(SHUT):
            sweep = {
                "bigbatch": ours(url, process),
                "sbatch": loop_of_sbatch(home),
                "submitit": map_array(home / "submitit"),
            }
        pairs = [pair(url, home, number) for number in range(PAIRS)]
    return {"runs": RUNS, "spec": BASE, "sweep": sweep, "first_step": first_step(pairs)}


def pair(url: str, home: Path, number: int) -> tuple[float, float]:
    """Both, right after one another, the one that goes first in turns: what slows the machine slows both."""
    began = time.monotonic()
    if number % 2:
        theirs_s = first_step_of_submitit(home, number)
        ours_s = first_step_of_ours(url)
    else:
        ours_s = first_step_of_ours(url)
        theirs_s = first_step_of_submitit(home, number)
    time.sleep(max(0.0, APART_S - (time.monotonic() - began)))
    return ours_s, theirs_s


def first_step(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """The median of the pairs' own ratios, which other work on the machine moves least, and their span."""
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(ours_s / theirs_s for ours_s, theirs_s in pairs)
    span = {"ratio": statistics.median(ratios), "least": ratios[0], "most": ratios[-1]}
    return {"bigbatch_s": mine, "submitit_s": theirs, **span, "pairs_s": pairs, "handed_over_after_s": HANDED_S}


@contextmanager
def service(home: Path) -> Iterator[tuple[str, psutil.Process]]:
    """The whole service on SQLite and a folder as broker, as one laptop or login node has it."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    setup = "export GLOO_SOCKET_IFNAME=eth0;;export OMP_NUM_THREADS=1"
    environment = {**os.environ, "BIGBATCH_HOME": str(home), "BIGBATCH_SLURM": "true", "BIGBATCH_SLURM_SETUP": setup}
    command = [sys.executable, "-m", "bigbatch.cli", "up", "--port", str(port)]
    started = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    try:
        assert started.stdout is not None
        started.stdout.readline()  # it says where it is, when it is ready
        time.sleep(5)
        yield f"http://127.0.0.1:{port}", psutil.Process(started.pid)
    finally:
        started.terminate()
        started.wait(60)


@contextmanager
def shut(partition: str) -> Iterator[None]:
    """A partition in which jobs only wait; afterwards it is empty and open."""
    _told("scontrol", "update", f"PartitionName={partition}", "State=DOWN")
    try:
        yield
    finally:
        _clear()
        _told("scontrol", "update", f"PartitionName={partition}", "State=UP")


def ours(url: str, process: psutil.Process) -> dict[str, Any]:
    """POST the sweep and wait until Slurm has all of it."""
    base = {**BASE, "resources": {"kind": "slurm", "partition": SHUT}}
    document = {"name": "sweep", "base": base, "axes": {"seed": list(range(RUNS))}}
    calls, cpu_s, began = _calls(url), _cpu_s(process), time.monotonic()
    id_ = _post(url, document)["id"]
    while _counts(url, id_).get("pending", 0) < RUNS:
        assert time.monotonic() - began < 120, _counts(url, id_)
        time.sleep(0.1)
    row = _row(time.monotonic() - began, sum(_calls(url).values()) - sum(calls.values()), _cpu_s(process) - cpu_s)
    made = {command: count - calls.get(command, 0) for command, count in _calls(url).items()}
    _all_in_queue()
    httpx.post(f"{url}/api/v1/experiments/{id_}/stop").raise_for_status()
    while _queued():
        assert time.monotonic() - began < 180, "the stop of a whole sweep"
        time.sleep(1)
    return {**row, "commands": made}


def loop_of_sbatch(home: Path) -> dict[str, Any]:
    script = home / "loop.sh"
    script.write_text("#!/bin/sh\nsleep 60\n")
    began, cpu_s = time.monotonic(), _children_cpu_s()
    for _ in range(RUNS):
        subprocess.run(["sbatch", "-p", SHUT, "-o", "/dev/null", str(script)], check=True, stdout=subprocess.DEVNULL)
    row = _row(time.monotonic() - began, RUNS, _children_cpu_s() - cpu_s)
    _all_in_queue()
    _clear()
    return row


def map_array(folder: Path) -> dict[str, Any]:
    executor = SlurmExecutor(folder=folder)
    executor.update_parameters(partition=SHUT, time=60, array_parallelism=RUNS)
    began, cpu_s = time.monotonic(), time.process_time() + _children_cpu_s()
    executor.map_array(time.sleep, [1] * RUNS)
    row = _row(time.monotonic() - began, 1, time.process_time() + _children_cpu_s() - cpu_s)
    _all_in_queue()
    _clear()
    return row


def first_step_of_ours(url: str) -> float:
    """Seconds from POST to the first step of one run."""
    began = time.time()
    (run,) = _post(url, {"name": "one", "base": BASE})["runs"]
    took_s = _first_step(Path(httpx.get(f"{url}/api/v1/runs/{run}").json()["folder"])) - began
    moves = httpx.get(f"{url}/api/v1/runs/{run}").raise_for_status().json()["moves"]
    (handed,) = [move["at"] for move in moves if move["new"] == "pending"]
    HANDED_S.append(datetime.fromisoformat(handed).timestamp() - began)
    return took_s


def first_step_of_submitit(home: Path, number: int) -> float:
    """Seconds from submit() to the first step of the same run, its folder written before."""
    folder = RunFolder(home / f"plain-{number}")
    folder.prepare(ExperimentSpec.model_validate({"name": "one", "base": BASE}).base)
    executor = SlurmExecutor(folder=home / "plain")
    executor.update_parameters(partition="gpu", time=60, ntasks_per_node=1, setup=["export OMP_NUM_THREADS=1"])
    began = time.time()
    executor.submit(carry_out, folder, 1)
    return _first_step(folder.path) - began


def _first_step(folder: Path) -> float:
    """When the run said what its first step came to, by its own clock."""
    events, until = folder / "events.jsonl", time.monotonic() + 90
    while time.monotonic() < until:
        for line in events.read_bytes().splitlines(keepends=True) if events.exists() else []:
            if line.endswith(b"\n") and isinstance(event := reader.validate_json(line), Points):
                _wait_for_end(events)
                return event.at
        time.sleep(0.05)
    raise TimeoutError(f"no first step in {folder}")


def _wait_for_end(events: Path) -> None:
    while b'"finished"' not in events.read_bytes() or _queued():
        time.sleep(0.2)


def _post(url: str, document: dict[str, Any]) -> Any:
    return httpx.post(f"{url}/api/v1/experiments", json=document, timeout=60).raise_for_status().json()


def _counts(url: str, id_: int) -> dict[str, int]:
    return dict(httpx.get(f"{url}/api/v1/experiments/{id_}", timeout=60).raise_for_status().json()["counts"])


def _calls(url: str) -> dict[str, int]:
    """How often the service has called each of Slurm's commands, as it counts itself."""
    told: dict[str, int] = {}
    for command, count in re.findall(r'calls_total{.*command="(\w+)".*} (\d+)', httpx.get(f"{url}/metrics").text):
        told[command] = told.get(command, 0) + int(count)
    return told


def _cpu_s(process: psutil.Process) -> float:
    """CPU seconds of a process and all its children, those included that have ended."""
    return sum(sum(one.cpu_times()[:4]) for one in [process, *process.children(recursive=True)])


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _queued() -> int:
    return len(_told("squeue", "--me", "-h", "-r", "-t", "PENDING,RUNNING,COMPLETING", "-o", "%i").splitlines())


def _all_in_queue() -> None:
    """Slurm itself must have them: nobody's word is taken for it."""
    queued = _queued()
    assert queued == RUNS, f"{queued} of {RUNS} are in Slurm's queue"


def _clear() -> None:
    subprocess.run(["scancel", "--me", f"--partition={SHUT}"], check=True)
    while _queued():
        time.sleep(0.5)


def _row(seconds: float, calls: int, cpu_s: float) -> dict[str, Any]:
    return {"seconds": round(seconds, 3), "calls": calls, "cpu_s": round(cpu_s, 3)}


def _told(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
