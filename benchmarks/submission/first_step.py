"""The time to the first step, in pairs: an engine run against submitit, a program against sbatch by hand.

Both of a pair run the same code on the same hosts, one after the other, the order changes from pair to pair, and the
pairs are so far apart that the rate limit of Slurm calls delays no run.
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
from submitit.slurm.slurm import SlurmExecutor

from benchmarks.submission import service
from benchmarks.submission.sweep import ENGINE
from contract.folder.events import Points, event_reader
from contract.folder.run_folder import RunFolder
from contract.spec.expanded import read_experiment
from trainers.job import run_attempt

PAIRS, PAIR_PERIOD_S, PATIENCE_S = 7, 18.0, 90.0
HOSTS, PARTITION = 2, "gpu"
SCRIPT = Path(__file__).parent / "train.py"
BASE = {**ENGINE, "resources": {"kind": "slurm", "partition": PARTITION}}
# what a user writes for two hosts
BATCH = f"""#!/bin/bash
{service.SETUP.replace(";;", chr(10))}
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) MASTER_PORT=29533
export WORLD_SIZE=$SLURM_NTASKS
srun bash -c 'RANK=$SLURM_PROCID exec {sys.executable} {SCRIPT} "$0"' "$1"
"""
Timer = Callable[[int], float]  # the number of the pair -> seconds to the first step


def engine_pairs(client: httpx.Client, home: Path) -> dict[str, Any]:
    """Measure an engine run through the service against the same by submitit; return a section of the report."""
    handed_over: list[float] = []
    pairs = [
        _pair(number, lambda _: _engine(client, handed_over), lambda pair: _submitit(home, pair))
        for number in range(PAIRS)
    ]
    return {**_summary(pairs), "handed_over_after_s": handed_over}


def program_pairs(client: httpx.Client, home: Path) -> dict[str, Any]:
    """Measure a program on two hosts through the service against sbatch by hand; return a section of the report."""
    handed_over: list[float] = []
    pairs = [
        _pair(number, lambda pair: _program(client, home, pair, handed_over), lambda pair: _sbatch(home, pair))
        for number in range(PAIRS)
    ]
    return {**_summary(pairs), "handed_over_after_s": handed_over}


def _pair(number: int, own: Timer, other: Timer) -> tuple[float, float]:
    began = time.monotonic()
    if number % 2:
        other_s = other(number)
        own_s = own(number)
    else:
        own_s = own(number)
        other_s = other(number)
    time.sleep(max(0.0, PAIR_PERIOD_S - (time.monotonic() - began)))
    return own_s, other_s


def _summary(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    """Return the medians of the times, and median and range of the ratios, which other load affects least."""
    own_s, other_s = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratios = sorted(own / other for own, other in pairs)
    span = {"ratio": statistics.median(ratios), "least": ratios[0], "most": ratios[-1]}
    return {"bigbatch_s": own_s, "other_s": other_s, **span, "pairs_s": pairs}


def _engine(client: httpx.Client, handed_over: list[float]) -> float:
    began = time.time()
    (run,) = service.post(client, {"name": "one", "base": BASE})["runs"]
    events = Path(client.get(f"/api/v1/runs/{run}").json()["folder"]) / "events.jsonl"
    took_s = _first_points(events) - began
    handed_over.append(_submitted_at(client, run) - began)
    return took_s


def _submitit(home: Path, number: int) -> float:
    """Return the seconds from submitit's submit() to the first step; the run folder is written before."""
    folder = RunFolder(home / f"plain-{number}")
    ((_, run),) = read_experiment({"name": "one", "base": BASE}).points
    folder.prepare(run)
    executor = SlurmExecutor(folder=home / "plain")
    executor.update_parameters(partition=PARTITION, time=60, ntasks_per_node=1, setup=["export OMP_NUM_THREADS=1"])
    began = time.time()
    executor.submit(run_attempt, folder, 1)
    return _first_points(folder.path / "events.jsonl") - began


def _program(client: httpx.Client, home: Path, number: int, handed_over: list[float]) -> float:
    mark = home / f"program-{number}"
    base = {
        "kind": "program",
        "command": [sys.executable, str(SCRIPT), str(mark)],
        "launcher": "srun",
        "resources": {"kind": "slurm", "partition": PARTITION, "nodes": HOSTS, "ranks_per_node": 1},
    }
    began = time.time()
    (run,) = service.post(client, {"name": "one", "base": base})["runs"]
    took_s = _first_mark(mark) - began
    handed_over.append(_submitted_at(client, run) - began)
    return took_s


def _sbatch(home: Path, number: int) -> float:
    """Return the seconds from the call of sbatch to the first step."""
    script, mark = home / "by-hand.sh", home / f"by-hand-{number}"
    script.write_text(BATCH)
    options = ["-p", PARTITION, "-N", str(HOSTS), "--ntasks-per-node=1", "-t", "60", "-o", f"{home}/by-hand.out"]
    began = time.time()
    subprocess.run(["sbatch", *options, str(script), str(mark)], check=True, stdout=subprocess.DEVNULL)
    return _first_mark(mark) - began


def _submitted_at(client: httpx.Client, run: int) -> float:
    moves = client.get(f"/api/v1/runs/{run}").raise_for_status().json()["moves"]
    (submitted,) = [move["at"] for move in moves if move["new"] == "pending"]
    return datetime.fromisoformat(submitted).timestamp()


def _first_points(events: Path) -> float:
    """Return the time of the engine run's first step event, by the clock of the run."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        for line in events.read_bytes().splitlines(keepends=True) if events.exists() else []:
            if line.endswith(b"\n") and isinstance(event := event_reader.validate_json(line), Points):
                _wait_for_end(events)
                return event.at
        time.sleep(0.05)
    raise TimeoutError(f"{events} had no first step within {PATIENCE_S:.0f} s")


def _wait_for_end(events: Path) -> None:
    while b'"finished"' not in events.read_bytes() or service.queued():
        time.sleep(0.2)


def _first_mark(mark: Path) -> float:
    """Return the time that rank 0 of the script wrote at the end of its first step."""
    deadline = time.monotonic() + PATIENCE_S
    while not mark.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the script had not written {mark} within {PATIENCE_S:.0f} s")
        time.sleep(0.05)
    while service.queued():
        time.sleep(0.2)
    return float(mark.read_text())
