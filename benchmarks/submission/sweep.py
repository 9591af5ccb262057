"""The time until 1,000 runs are in Slurm's queue: the service's engine and program runs, sbatch, submitit."""

import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
from submitit.slurm.slurm import SlurmExecutor

from benchmarks.submission import service
from benchmarks.submission.service import CLOSED

RUNS, ROUNDS = 1000, 3
ENGINE = {
    "optimizer": {"kind": "sgd"},
    "schedule": {"kind": "constant", "rate": 0.05},
    "batch": 64,
    "epochs": 1,
}
PROGRAM = {"kind": "program", "command": [sys.executable, "-c", "pass", "{seed}"], "parameters": {"seed": 0}}


def submit_by_bigbatch(client: httpx.Client, process: psutil.Process) -> dict[str, dict[str, Any]]:
    """POST sweeps of engine and of program runs in turn; return a row of the report for each kind, of medians."""
    sweeps = {
        "engine": {"base": ENGINE, "axes": {"seed": list(range(RUNS))}},
        "program": {"base": PROGRAM, "axes": {"parameters.seed": list(range(RUNS))}},
    }
    rows = [{kind: _submit(client, process, sweep) for kind, sweep in sweeps.items()} for _ in range(ROUNDS)]
    return {
        kind: {name: statistics.median(row[kind][name] for row in rows) for name in ("seconds", "calls", "cpu_s")}
        for kind in sweeps
    }


def submit_by_sbatch(home: Path) -> dict[str, Any]:
    """Call sbatch once per run; return a row of the report."""
    script = home / "loop.sh"
    script.write_text("#!/bin/sh\nsleep 60\n")
    began, used = time.monotonic(), service.children_cpu_s()
    for _ in range(RUNS):
        subprocess.run(["sbatch", "-p", CLOSED, "-o", "/dev/null", str(script)], check=True, stdout=subprocess.DEVNULL)
    row = _row(time.monotonic() - began, RUNS, service.children_cpu_s() - used)
    _all_in_queue()
    service.clear()
    return row


def submit_by_submitit(folder: Path) -> dict[str, Any]:
    """Call submitit's map_array; return a row of the report."""
    executor = SlurmExecutor(folder=folder)
    executor.update_parameters(partition=CLOSED, time=60, array_parallelism=RUNS)
    began, used = time.monotonic(), time.process_time() + service.children_cpu_s()
    executor.map_array(time.sleep, [1] * RUNS)
    row = _row(time.monotonic() - began, 1, time.process_time() + service.children_cpu_s() - used)
    _all_in_queue()
    service.clear()
    return row


def _submit(client: httpx.Client, process: psutil.Process, sweep: dict[str, Any]) -> dict[str, Any]:
    base = {**sweep["base"], "resources": {"kind": "slurm", "partition": CLOSED}}
    calls, used, began = service.slurm_calls(client), service.cpu_s(process), time.monotonic()
    id_ = service.post(client, {**sweep, "name": "sweep", "base": base})["id"]
    while service.counts(client, id_).get("pending", 0) < RUNS:
        assert time.monotonic() - began < 120, service.counts(client, id_)
        time.sleep(0.1)
    seconds, after = time.monotonic() - began, service.slurm_calls(client)
    submits = after.get("sbatch", 0) - calls.get("sbatch", 0)
    row = _row(seconds, submits, service.cpu_s(process) - used)
    _all_in_queue()
    client.post(f"/api/v1/experiments/{id_}/stop").raise_for_status()
    while service.queued() or service.counts(client, id_).get("cancelled", 0) < RUNS:
        assert time.monotonic() - began < 240, "the sweep was not stopped within 240 s"
        time.sleep(1)  # the records of 1,000 ended jobs would delay the next sweep
    return row


def _all_in_queue() -> None:
    """Check in Slurm itself that all jobs are queued."""
    queued = service.queued()
    assert queued == RUNS, f"{queued} of {RUNS} are in Slurm's queue"


def _row(seconds: float, calls: int, cpu_s: float) -> dict[str, Any]:
    return {"seconds": round(seconds, 3), "calls": calls, "cpu_s": round(cpu_s, 3)}
