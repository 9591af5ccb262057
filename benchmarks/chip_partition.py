"""Time to an accuracy with 1, 2 or 4 replicas on one chip: `make bench NAME=chip_partition`.

You, Buluç & Demmel (2017, section 6.2) divide a Knights Landing into P parts and reach an accuracy 1.6 times as fast
with 4 parts and 3.3 times as fast with 16. Here the chip is this machine, with the same cores, net, data, batch and
rate for every P; each replica is bound to its cores, and a tree all-reduce sums the gradients. The tasks start as with
srun.

The time is the training time that the run reports, with evaluations and without the start, until the first epoch whose
held-out accuracy reaches the target. Each seed runs with every P. The benchmark takes 2 to 3 minutes on two cores.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean, median
from typing import Any

import torch

from contract import metric_names
from contract.folder.events import Points, event_reader
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec

PARTS = [1, 2, 4]
SEEDS = [0, 1, 2]
PATIENCE_S = 300
CASES: dict[str, dict[str, Any]] = {
    "digits": {
        "target": 0.97,
        "run": {
            "model": {"kind": "convnet", "width": 16},
            "data": {"kind": "digits"},
            "optimizer": {"kind": "sgd", "momentum": 0.9},
            "schedule": {"kind": "constant", "rate": 0.05},
            "batch": 64,
            "epochs": 6,
        },
    },
    "glyphs": {
        "target": 0.90,
        "run": {
            "model": {"kind": "lenet"},
            "data": {"kind": "glyphs", "classes": 26, "train_samples": 8_192, "heldout_samples": 2_000},
            "optimizer": {"kind": "sgd", "momentum": 0.9},
            "schedule": {"kind": "constant", "rate": 0.02},
            "batch": 128,
            "epochs": 4,
        },
    },
}
PUBLISHED = {"1": 1605, "4": 1025, "8": 823, "16": 490}  # parts -> s to 0.625, AlexNet on CIFAR
RESULT = Path(__file__).parent / "results" / "chip_partition.json"


def main() -> None:
    """Measure every case, print a table and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, action="append", help="measure only this case; retain the others")
    options = parser.parse_args()
    chosen = options.case or list(CASES)
    found = {name: measure_case(name) for name in chosen}
    before = json.loads(RESULT.read_text())["cases"] if RESULT.exists() else {}
    machine = {"cores": cores(), "numa_nodes": numa_nodes(), "machine": platform.machine(), "system": platform.system()}
    versions = {"torch": torch.__version__, "python": platform.python_version()}
    report = {"machine": machine, "versions": versions, "published_s": PUBLISHED, "cases": {**before, **found}}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=1) + "\n")


def measure_case(name: str) -> dict[str, Any]:
    """Measure one case and return a row for every P, over the seeds."""
    case = CASES[name]
    results = [{parts: run_case(case, parts, seed) for parts in PARTS} for seed in SEEDS]
    baseline_s = median(of_seed[1]["seconds"] for of_seed in results)
    rows = []
    for parts in PARTS:
        own = [of_seed[parts] for of_seed in results]
        seconds = [result["seconds"] for result in own]
        row = {
            "parts": parts,
            "seconds": median(seconds),
            "times_as_fast": baseline_s / median(seconds),
            "epochs": [result["epochs"] for result in own],
            "communication_share": mean(result["communication_share"] for result in own),
            "all_seconds": seconds,
            "bound": own[0]["bound"],
        }
        rows.append(row)
        print(
            f"{name:7} P = {parts}: {row['seconds']:7.2f} s to {case['target']:.0%}, "
            f"{row['times_as_fast']:.2f} x as fast as P = 1, communication {row['communication_share']:.0%}",
            flush=True,
        )
    return {"target": case["target"], "run": case["run"], "seeds": SEEDS, "rows": rows}


def run_case(case: dict[str, Any], parts: int, seed: int) -> dict[str, Any]:
    """Execute one run; raise ValueError if it does not reach the target."""
    resources = {"kind": "slurm", "many_core": {"cpus": max(cores(), parts), "parts": parts}}
    run = RunSpec.model_validate({**case["run"], "seed": seed, "collective": {"kind": "tree"}, "resources": resources})
    with tempfile.TemporaryDirectory() as home:
        folder = RunFolder(Path(home) / "run")
        folder.prepare(run)
        run_tasks(folder, parts)
        lines = [event_reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
        bindings = folder.read_bindings()
    points = [event.values for event in lines if isinstance(event, Points)]
    for values in points:
        if (values.get(metric_names.HELDOUT_ACCURACY) or 0.0) >= case["target"]:
            steps = [of_step for of_step in points if metric_names.COMMUNICATION_S in of_step]
            return {
                "seconds": values[metric_names.TRAINED_S],
                "epochs": values[metric_names.EPOCH],
                "communication_share": communication_share(steps),
                "bound": [f"cpus {rank.cpus}, {rank.threads} threads" for rank in bindings.ranks] if bindings else [],
            }
    raise ValueError(f"the accuracy {case['target']:.0%} was not reached with P = {parts} and seed {seed}")


def communication_share(steps: list[dict[str, float | None]]) -> float:
    """Return the share of communication in the time of all steps."""
    names = (metric_names.COMPUTE_S, metric_names.COMMUNICATION_S, metric_names.INPUT_S, metric_names.IDLE_S)
    sums = {name: sum(values.get(name) or 0.0 for values in steps) for name in names}
    return sums[metric_names.COMMUNICATION_S] / sum(sums.values())


def run_tasks(folder: RunFolder, parts: int) -> None:
    """Start one task per part with the variables of srun, and wait for all tasks."""
    tasks = []
    for task in range(parts):
        variables = {"SLURM_JOB_ID": "1", "SLURM_NODEID": "0", "SLURMD_NODENAME": "localhost"}
        variables |= {"SLURM_PROCID": str(task), "SLURM_LOCALID": str(task)}
        variables |= {"SLURM_NTASKS": str(parts), "SLURM_STEP_TASKS_PER_NODE": str(parts)}
        command = [sys.executable, "-m", "trainers", str(folder.path)]
        tasks.append(subprocess.Popen(command, env={**os.environ, **variables}, stdout=subprocess.DEVNULL))
    try:
        statuses = [process.wait(PATIENCE_S) for process in tasks]
    finally:
        for process in tasks:
            process.kill()
    if any(statuses):
        raise RuntimeError(f"a run of {parts} parts failed")


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0))


def numa_nodes() -> int:
    """Return the number of NUMA nodes of this machine."""
    return len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))


if __name__ == "__main__":
    main()
