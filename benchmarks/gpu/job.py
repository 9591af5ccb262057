"""Whole jobs, as the service starts them: meeting, training, checkpoint, evaluation."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.gpu.place import Figures
from contract.folder.events import Event, Failed, Finished, Points, Started, event_reader
from contract.folder.run_folder import RunFolder
from contract.metric_names import HELDOUT_ACCURACY
from contract.spec.run import RunSpec

HOUSE = Path(__file__).parents[2]
LEAST_ACCURACY = 0.9  # of the digits


def check_job(ranks: int, *, cpu: bool, timeout_s: float) -> Figures:
    """Run a job on all ranks to its end; raise AssertionError if it does not learn the digits."""
    spec: dict[str, Any] = {
        "optimizer": {"kind": "lars"},
        "schedule": {"kind": "polynomial", "rate": 7.0, "warmup_epochs": 1.0},
        "batch": 64 * ranks if ranks <= 4 else 32 * ranks,
        "epochs": 8,
        "collective": {"kind": "torus", "timeout_s": 60},
        "device": "cpu" if cpu else "gpu",
        "checkpoint": {"every_epochs": 4},
        "resources": {"kind": "local", "ranks_per_node": ranks},
    }
    events = run_job(spec, timeout_s=timeout_s)
    device = next(event.device for event in events if isinstance(event, Started))
    found = [event.values.get(HELDOUT_ACCURACY) for event in events if isinstance(event, Points)]
    accuracy = next(value for value in reversed(found) if value is not None)
    assert accuracy >= LEAST_ACCURACY, f"the job reached {accuracy:.1%} of the digits"
    return {"device": device, "heldout_accuracy": accuracy}


def run_job(spec: dict[str, Any], *, timeout_s: float) -> list[Event]:
    """Run a job to its end and return its events; raise RuntimeError if it fails."""
    with tempfile.TemporaryDirectory() as path:
        folder = RunFolder(Path(path) / "run")
        folder.prepare(RunSpec.model_validate(spec))
        command = [sys.executable, "-m", "trainers", str(folder.path)]
        job = subprocess.run(
            command, cwd=HOUSE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=timeout_s, check=False
        )
        events = [event_reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
    failures = [event.reason for event in events if isinstance(event, Failed)]
    if job.returncode or failures:
        raise RuntimeError(f"the job ended with {job.returncode}: {failures or job.stderr.decode()[-500:]}")
    assert isinstance(events[-1], Finished)
    return events
