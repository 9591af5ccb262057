"""Submission of 1,000 runs, and the time to the first step of one: `make bench NAME=submission`, eight minutes.

The comparison is with a loop of sbatch, submitit's map_array and a batch script by hand, in the same benchmark run on
the same cluster. The benchmark needs the lab (python -m lab up) and its environment (eval "$(python -m lab env)").
"""

import json
import multiprocessing
import os
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.submission import first_step, sweep
from benchmarks.submission.service import CLOSED, closed, output, service

RESULT = Path(__file__).parents[1] / "results" / "submission.json"


def main() -> None:
    """Measure, print a table and write the report."""
    if not os.environ.get("SLURM_CONF"):
        sys.exit('SLURM_CONF is not set; start the lab: python -m lab up; eval "$(python -m lab env)"')
    with tempfile.TemporaryDirectory(prefix="bigbatch-submission-") as home:
        report = measure(Path(home))
    machine = {"machine": platform.machine(), "system": platform.system(), "cores": multiprocessing.cpu_count()}
    versions = {"submitit": version("submitit"), "python": platform.python_version(), "slurm": output("sinfo", "-V")}
    load = os.getloadavg()[0]
    RESULT.write_text(json.dumps({"machine": machine, "load": load, "versions": versions, **report}, indent=1) + "\n")
    for name, row in report["sweep"].items():
        print(f"{name:10} {row['seconds']:6.2f} s to the queue, {row['calls']:4} calls, {row['cpu_s']:6.2f} CPU s")
    for name, other in (("engine", "submitit"), ("program", "sbatch by hand")):
        first = report[f"first_step_{name}"]
        span = f"({first['least']:.2f} to {first['most']:.2f})"
        print(f"{name}: first step after {first['ratio']:.2f} x the time of {other} {span}")


def measure(home: Path) -> dict[str, Any]:
    """Return the report's sections for the sweep and for the first steps."""
    with service(home) as (client, process):
        with closed(CLOSED):
            rows = {
                **sweep.submit_by_bigbatch(client, process),
                "sbatch": sweep.submit_by_sbatch(home),
                "submitit": sweep.submit_by_submitit(home / "submitit"),
            }
        engine = first_step.engine_pairs(client, home)
        program = first_step.program_pairs(client, home)
    spec = {"runs": sweep.RUNS, "engine": sweep.ENGINE}
    return {**spec, "sweep": rows, "first_step_engine": engine, "first_step_program": program}
