"""Check PyTorch where runs train: on a compute node, whose probe tells, and on this machine."""

import json
import os
import subprocess
import sys
from typing import Any, NamedTuple

from contract.api.site_check import Check, Grade, failed_check, passed_check
from scheduler.clusters.cluster import is_passed_to_jobs

ANSWER_S = 180.0  # for an import from a slow disk


class Place(NamedTuple):
    """Where runs train, and what to do there."""

    area: str
    where: str
    gpus_of: str
    absent: Grade  # PyTorch cannot be imported
    without: str  # the effect of that
    install: str
    faster: str


NODE = Place(
    area="compute node",
    where="on the compute node",
    gpus_of=" in a job without a GPU request",
    absent=Grade.ERROR,
    without="no run can train on the compute node",
    install="run pip install 'bigbatch[trainer]' on every compute node",
    faster="set BIGBATCH_SLURM_PYTHON to a Python on a faster disk",
)
HERE = Place(
    area="this machine",
    where="on this machine",
    gpus_of="",
    absent=Grade.NOTE,
    without="no run of the engine can train on this machine; programs can that bring a Python with PyTorch",
    install="run pip install 'bigbatch[trainer]' in the service's environment",
    faster="install the service's environment on a faster disk",
)


def check_torch(place: Place, answer: dict[str, Any] | None) -> Check:
    """Return what the answer of `trainers.probe` says; None: there is no answer."""
    if answer is None:
        found = f"import took more than {ANSWER_S:g} s"
        return _failed(place, Grade.ERROR, found, "runs start slowly", place.faster)
    if "error" in answer:
        return _failed(place, place.absent, answer["error"], place.without, place.install)
    gpus = answer["gpus"]
    found = f"{answer['version']}, {gpus} GPU{'s' if gpus != 1 else ''}{place.gpus_of}"
    if not answer.get("binds_stores", True):
        found += ", whose stores listen on every address"
        means = "runs can train; other hosts reach the store of a program, which asks for no secret (docs/programs.md)"
        return _failed(place, Grade.NOTE, found, means, "install a newer PyTorch, whose TCPStore has master_listen_fd")
    return passed_check(place.area, "torch", found, f"runs can train {place.where}")


def check_torch_here() -> Check:
    """Return the check of the Python with which local runs start."""
    try:
        return check_torch(HERE, probe_here())
    except subprocess.TimeoutExpired:
        return check_torch(HERE, None)


def probe_here() -> dict[str, Any]:
    """Return the answer of this machine; raise TimeoutExpired."""
    words = [sys.executable, "-P", "-m", "trainers.probe"]
    environment = {name: value for name, value in os.environ.items() if is_passed_to_jobs(name)}
    done = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=ANSWER_S, env=environment
    )
    try:
        answer: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        last = "".join(done.stderr.strip().splitlines()[-1:])
        return {"error": last or f"the import ended with exit code {done.returncode}"}
    return answer


def _failed(place: Place, grade: Grade, found: str, means: str, advice: str) -> Check:
    return failed_check(place.area, "torch", grade, found=found, means=means, advice=advice)
