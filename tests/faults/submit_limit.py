"""`python -m tests.faults.submit_limit --runs 150`: short runs on a lab whose QOS admits few jobs of a user at once.

The lab must be up with `python -m lab up --max-submit-jobs N`. The program prints the share of the limit that is in use
while runs wait, the calls of sbatch, and how far the history of the runs has grown.
"""

import argparse
import json
import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import func, select

from lab import layout
from lab.state_folder import selected_folder
from store.session import engine_for, snapshot
from store.tables.clusters import CallCount
from store.tables.runs import Move, Run
from tests.testing.faults import lab, light
from tests.testing.faults.on_fake_slurm import STEPS_PER_EPOCH, database_of
from tests.testing.faults.truth import UNDER_WAY
from tests.testing.service import ENDED, Service, running

SPEC = """
name: more runs than the cluster admits
base:
  optimizer: {{kind: sgd}}
  schedule: {{kind: constant, rate: 0.02}}
  batch: 128
  epochs: 1
  resources: {{kind: slurm, partition: gpu}}
axes: {{seed: {seeds}}}
"""


class Figures(NamedTuple):
    """What a sweep under a submit limit cost."""

    runs: int
    done: int
    seconds: float
    share: float  # of the limit, in Slurm while runs waited, on average from the first accepted job on
    calls: int  # of sbatch
    refused: int  # of these
    moves_per_run: float
    largest_attempt: int
    longest_name: str  # of a job


def measure(service: Service, in_slurm: Callable[[], int], *, runs: int, limit: int, within_s: float) -> Figures:
    """Submit so many runs and wait for their end; `in_slurm` returns how many jobs the cluster has."""
    began, calls = time.monotonic(), _calls(service)
    run_ids = service.post(SPEC.format(seeds=list(range(runs))))
    id_ = service.get(f"/runs/{run_ids[0]}")["experiment_id"]
    samples: list[tuple[float, int]] = []
    while True:
        counts = service.get(f"/experiments/{id_}")["counts"]
        if sum(counts.get(state, 0) for state in ENDED) == runs or time.monotonic() - began > within_s:
            break
        if counts.get("queued", 0) + counts.get("submitting", 0):
            samples.append((time.monotonic(), in_slurm()))
        time.sleep(0.5)
    seconds = time.monotonic() - began
    with snapshot(engine_for(database_of(service))) as db:
        moves = db.scalar(select(func.count()).select_from(Move).where(Move.run_id.in_(run_ids))) or 0
        largest = db.scalar(select(func.max(Run.attempt)).where(Run.id.in_(run_ids))) or 0
        names = [job.name for run in db.scalars(select(Run).where(Run.id.in_(run_ids))) for job in run.jobs]
    made = {outcome: count - calls.get(outcome, 0) for outcome, count in _calls(service).items()}
    return Figures(
        runs,
        counts.get("done", 0),
        round(seconds, 1),
        round(_share(samples, limit), 3),
        sum(made.values()),
        made.get("failed", 0),
        moves / runs,
        largest,
        max(names, key=len),
    )


def _share(samples: list[tuple[float, int]], limit: int) -> float:
    """Return the average share of the limit in use over time, from the first job on."""
    first = next((place for place, (_, jobs) in enumerate(samples) if jobs), len(samples))
    used = [(jobs, after - at) for (at, jobs), (after, _) in zip(samples[first:], samples[first + 1 :], strict=False)]
    total_s = sum(seconds for _, seconds in used)
    return sum(jobs * seconds for jobs, seconds in used) / total_s / limit if total_s else math.nan


def _calls(service: Service) -> dict[str, int]:
    """Return how often sbatch was called, by outcome."""
    with snapshot(engine_for(database_of(service))) as db:
        rows = db.execute(select(CallCount.outcome, CallCount.count).where(CallCount.command == "sbatch"))
        return dict(rows.all())


def jobs_in_lab() -> int:
    """Return how many jobs of the lab's Slurm have not ended."""
    return sum(job.state in UNDER_WAY for job in lab.jobs())


def main() -> None:
    """Measure on the lab and print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=150)
    options.add_argument("--seconds", type=float, default=30.0, help="that a run takes")
    options.add_argument("--within", type=float, default=3600.0, help="seconds until the program gives up")
    chosen = options.parse_args()
    folder = selected_folder()
    present = layout.load(folder.layout)
    if not present or not present.max_submit_jobs:
        options.error("start the lab with python -m lab up --max-submit-jobs N")
    os.environ["SLURM_CONF"] = str(folder.slurm_conf)
    with tempfile.TemporaryDirectory(prefix="bigbatch-submit-limit-") as name:
        home = Path(name)
        settings = {
            "BIGBATCH_SLURM": "true",
            "BIGBATCH_SLURM_PYTHON": str(light.program(home)),
            light.STEP_S: str(chosen.seconds / STEPS_PER_EPOCH),
        }
        with running(home / "home", settings) as service:
            figures = measure(
                service, jobs_in_lab, runs=chosen.runs, limit=present.max_submit_jobs, within_s=chosen.within
            )
    print(json.dumps(figures._asdict(), indent=1))


if __name__ == "__main__":
    main()
