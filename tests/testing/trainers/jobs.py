"""Start whole jobs as a user or the scheduler does, and read their results."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil

from contract.folder.events import Event, Points, event_reader
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec

HOUSE = Path(__file__).parents[3]
PATIENCE_S = 150
PID_MAX = int(Path("/proc/sys/kernel/pid_max").read_text())


def prepare(path: Path, **choices: Any) -> RunFolder:
    """Make a run folder: digits on four local ranks, except for the given choices."""
    small = {
        "optimizer": {"kind": "lars"},
        "schedule": {"kind": "polynomial", "rate": 7.0, "warmup_epochs": 1.0},
        "batch": 256,
        "epochs": 2,
        "collective": {"kind": "torus", "rows": 2},
        "resources": {"kind": "local", "ranks_per_node": 4},
    }
    folder = RunFolder(path)
    folder.prepare(RunSpec.model_validate({**small, **choices}))
    return folder


def start(folder: RunFolder, *words: str, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
    """Start `python -m trainers FOLDER` as the leader of a process group."""
    return subprocess.Popen(
        [sys.executable, "-m", "trainers", str(folder.path), *words],
        cwd=HOUSE,
        env={**_without_slurm(), **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(job: "subprocess.Popen[str]") -> tuple[int, str]:
    """Return a job's exit status and its stderr."""
    _, errors = job.communicate(timeout=PATIENCE_S)
    return job.returncode, errors


def events(folder: RunFolder) -> list[Event]:
    if not folder.events.exists():
        return []
    whole, _, _ = folder.events.read_bytes().rpartition(b"\n")  # the last line may be incomplete
    return [event_reader.validate_json(line) for line in whole.splitlines()]


def losses(folder: RunFolder) -> list[float | None]:
    return [event.values["loss"] for event in events(folder) if isinstance(event, Points) and "loss" in event.values]


def until(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "the condition did not become true"
        time.sleep(0.02)


def ranks_of(job: "subprocess.Popen[str]") -> list[psutil.Process]:
    """Return the processes of the ranks in order: grandchildren of the job, which its fork server starts."""
    ranks = [(rank, server.pid) for server in psutil.Process(job.pid).children() for rank in server.children()]
    # process ids order those of one clock tick; they restart at 0 after the largest id
    ranks.sort(key=lambda it: (it[0].create_time(), (it[0].pid - it[1]) % PID_MAX))
    return [rank for rank, _ in ranks]


def group(number: int) -> list[psutil.Process]:
    """Return all running processes of a process group."""
    alive = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == number and process.status() != psutil.STATUS_ZOMBIE:
                alive.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return alive


def _without_slurm() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}


def task(number: int, tasks: int = 2, **more: str) -> dict[str, str]:
    """What srun tells task `number` of those that share one node."""
    return {
        "SLURM_JOB_ID": "77",
        "SLURM_PROCID": str(number),
        "SLURM_NTASKS": str(tasks),
        "SLURM_LOCALID": str(number),
        "SLURM_NODEID": "0",
        "SLURM_STEP_TASKS_PER_NODE": str(tasks),
        "SLURMD_NODENAME": "localhost",
        **more,
    }
