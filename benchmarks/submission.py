"""The time to submit 1,000 runs, and the time to the first step of one run: `make bench NAME=submission`, four minutes.

The comparison is with a loop of sbatch and with submitit's map_array, in the same benchmark run on the same cluster.
The benchmark needs the lab (python -m lab up) and its environment (eval "$(python -m lab env)").
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

from contract.folder.events import Points, event_reader
from contract.folder.run_folder import RunFolder
from contract.spec.experiment import ExperimentSpec
from trainers.job import run_attempt

RUNS, PAIRS, CLOSED = 1000, 7, "urgent"  # a partition that accepts jobs and starts none
PAIR_PERIOD_S = 18.0  # from pair to pair, so that the rate limit of Slurm calls does not delay a run
SUBMITTED_AFTER_S: list[float] = []  # of each Bigbatch run, from POST to its submission
RESULT = Path(__file__).parent / "results" / "submission.json"
BASE = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 64,
    "epochs": 1,
    "resources": {"kind": "slurm", "partition": "gpu"},
}


def main() -> None:
    """Measure, print a table and write the report."""
    if not os.environ.get("SLURM_CONF"):
        sys.exit('SLURM_CONF is not set; start the lab: python -m lab up; eval "$(python -m lab env)"')
    with tempfile.TemporaryDirectory(prefix="bigbatch-submission-") as home:
        report = measure(Path(home))
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    versions = {"submitit": version("submitit"), "python": platform.python_version(), "slurm": _output("sinfo", "-V")}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"machine": machine, "versions": versions, **report}, indent=1) + "\n")
    for name, row in report["sweep"].items():
        print(f"{name:10} {row['seconds']:6.2f} s to the queue, {row['calls']:4} calls, {row['cpu_s']:6.2f} CPU s")
    first = report["first_step"]
    print(f"first step after {first['ratio']:.2f} x the time of submitit ({first['least']:.2f} to {first['most']:.2f})")


def measure(home: Path) -> dict[str, Any]:
    """Return the report's sections for the sweep and for the first step."""
    with service(home) as (client, process):
        with closed(CLOSED):
            sweep = {
                "bigbatch": submit_by_bigbatch(client, process),
                "sbatch": submit_by_sbatch(home),
                "submitit": submit_by_submitit(home / "submitit"),
            }
        pairs = [measure_pair(client, home, number) for number in range(PAIRS)]
    return {"runs": RUNS, "spec": BASE, "sweep": sweep, "first_step": summarize_pairs(pairs)}


def measure_pair(client: httpx.Client, home: Path, number: int) -> tuple[float, float]:
    """Return both times, measured in succession in alternating order, so that other load affects both alike."""
    began = time.monotonic()
    if number % 2:
        submitit_s = time_submitit(home, number)
        bigbatch_s = time_bigbatch(client)
    else:
        bigbatch_s = time_bigbatch(client)
        submitit_s = time_submitit(home, number)
    time.sleep(max(0.0, PAIR_PERIOD_S - (time.monotonic() - began)))
    return bigbatch_s, submitit_s


def summarize_pairs(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """Return the medians of the times, and median and range of the ratios, which other load affects least."""
    own_s, other_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(bigbatch_s / submitit_s for bigbatch_s, submitit_s in pairs)
    span = {"ratio": statistics.median(ratios), "least": ratios[0], "most": ratios[-1]}
    return {
        "bigbatch_s": own_s,
        "submitit_s": other_s,
        **span,
        "pairs_s": pairs,
        "handed_over_after_s": SUBMITTED_AFTER_S,
    }


@contextmanager
def service(home: Path) -> Iterator[tuple[httpx.Client, psutil.Process]]:
    """Run the service with SQLite and a folder as broker, as on a laptop; yield a client of it and its process."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    setup = "export GLOO_SOCKET_IFNAME=eth0;;export OMP_NUM_THREADS=1"
    environment = {**os.environ, "BIGBATCH_HOME": str(home), "BIGBATCH_SLURM": "true", "BIGBATCH_SLURM_SETUP": setup}
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
    _output("scontrol", "update", f"PartitionName={partition}", "State=DOWN")
    try:
        yield
    finally:
        _clear()
        _output("scontrol", "update", f"PartitionName={partition}", "State=UP")


def submit_by_bigbatch(client: httpx.Client, process: psutil.Process) -> dict[str, Any]:
    """POST the sweep and wait until all jobs are pending in Slurm; return a row of the report."""
    base = {**BASE, "resources": {"kind": "slurm", "partition": CLOSED}}
    document = {"name": "sweep", "base": base, "axes": {"seed": list(range(RUNS))}}
    calls, cpu_s, began = _calls(client), _cpu_s(process), time.monotonic()
    id_ = _post(client, document)["id"]
    while _counts(client, id_).get("pending", 0) < RUNS:
        assert time.monotonic() - began < 120, _counts(client, id_)
        time.sleep(0.1)
    row = _row(time.monotonic() - began, sum(_calls(client).values()) - sum(calls.values()), _cpu_s(process) - cpu_s)
    commands = {command: count - calls.get(command, 0) for command, count in _calls(client).items()}
    _all_in_queue()
    client.post(f"/api/v1/experiments/{id_}/stop").raise_for_status()
    while _queued():
        assert time.monotonic() - began < 180, "the sweep was not stopped within 180 s"
        time.sleep(1)
    return {**row, "commands": commands}


def submit_by_sbatch(home: Path) -> dict[str, Any]:
    """Call sbatch once per run; return a row of the report."""
    script = home / "loop.sh"
    script.write_text("#!/bin/sh\nsleep 60\n")
    began, cpu_s = time.monotonic(), _children_cpu_s()
    for _ in range(RUNS):
        subprocess.run(["sbatch", "-p", CLOSED, "-o", "/dev/null", str(script)], check=True, stdout=subprocess.DEVNULL)
    row = _row(time.monotonic() - began, RUNS, _children_cpu_s() - cpu_s)
    _all_in_queue()
    _clear()
    return row


def submit_by_submitit(folder: Path) -> dict[str, Any]:
    """Call submitit's map_array; return a row of the report."""
    executor = SlurmExecutor(folder=folder)
    executor.update_parameters(partition=CLOSED, time=60, array_parallelism=RUNS)
    began, cpu_s = time.monotonic(), time.process_time() + _children_cpu_s()
    executor.map_array(time.sleep, [1] * RUNS)
    row = _row(time.monotonic() - began, 1, time.process_time() + _children_cpu_s() - cpu_s)
    _all_in_queue()
    _clear()
    return row


def time_bigbatch(client: httpx.Client) -> float:
    """Return the seconds from POST to the first step of one run."""
    began = time.time()
    (run,) = _post(client, {"name": "one", "base": BASE})["runs"]
    took_s = _first_step(Path(client.get(f"/api/v1/runs/{run}").json()["folder"])) - began
    moves = client.get(f"/api/v1/runs/{run}").raise_for_status().json()["moves"]
    (submitted,) = [move["at"] for move in moves if move["new"] == "pending"]
    SUBMITTED_AFTER_S.append(datetime.fromisoformat(submitted).timestamp() - began)
    return took_s


def time_submitit(home: Path, number: int) -> float:
    """Return the seconds from submitit's submit() to the first step; the run folder is written before."""
    folder = RunFolder(home / f"plain-{number}")
    folder.prepare(ExperimentSpec.model_validate({"name": "one", "base": BASE}).base)
    executor = SlurmExecutor(folder=home / "plain")
    executor.update_parameters(partition="gpu", time=60, ntasks_per_node=1, setup=["export OMP_NUM_THREADS=1"])
    began = time.time()
    executor.submit(run_attempt, folder, 1)
    return _first_step(folder.path) - began


def _first_step(folder: Path) -> float:
    """Return the time of the run's first step event, by the clock of the run."""
    events, deadline = folder / "events.jsonl", time.monotonic() + 90
    while time.monotonic() < deadline:
        for line in events.read_bytes().splitlines(keepends=True) if events.exists() else []:
            if line.endswith(b"\n") and isinstance(event := event_reader.validate_json(line), Points):
                _wait_for_end(events)
                return event.at
        time.sleep(0.05)
    raise TimeoutError(f"the run in {folder} had no first step within 90 s")


def _wait_for_end(events: Path) -> None:
    while b'"finished"' not in events.read_bytes() or _queued():
        time.sleep(0.2)


def _post(client: httpx.Client, document: dict[str, Any]) -> Any:
    return client.post("/api/v1/experiments", json=document).raise_for_status().json()


def _counts(client: httpx.Client, id_: int) -> dict[str, int]:
    return dict(client.get(f"/api/v1/experiments/{id_}").raise_for_status().json()["counts"])


def _calls(client: httpx.Client) -> dict[str, int]:
    """Return the number of calls of each Slurm command, from the service's metrics."""
    calls: dict[str, int] = {}
    for command, count in re.findall(r'calls_total{.*command="(\w+)".*} (\d+)', client.get("/metrics").text):
        calls[command] = calls.get(command, 0) + int(count)
    return calls


def _cpu_s(process: psutil.Process) -> float:
    """Return the CPU seconds of a process and all its children, ended children included."""
    return sum(sum(member.cpu_times()[:4]) for member in [process, *process.children(recursive=True)])


def _children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _queued() -> int:
    return len(_output("squeue", "--me", "-h", "-r", "-t", "PENDING,RUNNING,COMPLETING", "-o", "%i").splitlines())


def _all_in_queue() -> None:
    """Check in Slurm itself that all jobs are queued."""
    queued = _queued()
    assert queued == RUNS, f"{queued} of {RUNS} are in Slurm's queue"


def _clear() -> None:
    subprocess.run(["scancel", "--me", f"--partition={CLOSED}"], check=True)
    while _queued():
        time.sleep(0.5)


def _row(seconds: float, calls: int, cpu_s: float) -> dict[str, Any]:
    return {"seconds": round(seconds, 3), "calls": calls, "cpu_s": round(cpu_s, 3)}


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
