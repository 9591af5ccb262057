"""How soon is an accuracy reached when one chip's cores train 1, 2 or 4 replicas? `make bench NAME=chip_partition`.

You, Buluç & Demmel (2017, section 6.2) cut a Knights Landing into P parts and reached an accuracy 1.6 times as fast
with 4 and 3.3 times with 16. Here the chip is this machine: the same cores, net, data, batch and rate, and P replicas
pinned to their share of the cores, their gradients summed over a tree. The tasks are started as srun would start them.

Time is what the run itself says of its training, evaluations included and the start not, up to the first epoch whose
held-out accuracy is at least the target; each seed is run with every P in turn. Two to three minutes on two cores.
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

from contract import metric_names as series
from contract.folder.events import Points, reader
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
PUBLISHED = {"1": 1605, "4": 1025, "8": 823, "16": 490}  # seconds to 0.625, AlexNet on CIFAR, one Knights Landing
RESULT = Path(__file__).parent / "results" / "chip_partition.json"


def main() -> None:
    """Measure every case, print the table and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, action="append", help="of these alone; the others' rows are kept")
    asked = parser.parse_args()
    chosen = asked.case or list(CASES)
    found = {name: measured(name) for name in chosen}
    before = json.loads(RESULT.read_text())["cases"] if RESULT.exists() else {}
    machine = {"cores": cores(), "numa_nodes": numa_nodes(), "machine": platform.machine(), "system": platform.system()}
    versions = {"torch": torch.__version__, "python": platform.python_version()}
    report = {"machine": machine, "versions": versions, "published_s": PUBLISHED, "cases": {**before, **found}}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(report, indent=1) + "\n")


def measured(name: str) -> dict[str, Any]:
    """One case: a row for every P, over the seeds."""
    case = CASES[name]
    outcomes = [{parts: outcome(case, parts, seed) for parts in PARTS} for seed in SEEDS]
    alone = median(of_seed[1]["seconds"] for of_seed in outcomes)
    rows = []
    for parts in PARTS:
        mine = [of_seed[parts] for of_seed in outcomes]
        seconds = [one["seconds"] for one in mine]
        row = {
            "parts": parts,
            "seconds": median(seconds),
            "times_as_fast": alone / median(seconds),
            "epochs": [one["epochs"] for one in mine],
            "communication_share": mean(one["communication_share"] for one in mine),
            "all_seconds": seconds,
            "bound": mine[0]["bound"],
        }
        rows.append(row)
        print(
            f"{name:7} P = {parts}: {row['seconds']:7.2f} s to {case['target']:.0%}, "
            f"{row['times_as_fast']:.2f} x as fast as P = 1, communication {row['communication_share']:.0%}",
            flush=True,
        )
    return {"target": case["target"], "run": case["run"], "seeds": SEEDS, "rows": rows}


def outcome(case: dict[str, Any], parts: int, seed: int) -> dict[str, Any]:
    """Carry one run out; raise ValueError when it does not reach the target."""
    resources = {"kind": "slurm", "many_core": {"cpus": max(cores(), parts), "parts": parts}}
    run = RunSpec.model_validate({**case["run"], "seed": seed, "collective": {"kind": "tree"}, "resources": resources})
    with tempfile.TemporaryDirectory() as home:
        folder = RunFolder(Path(home) / "run")
        folder.prepare(run)
        carry_out(folder, parts)
        said = [reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
        bindings = folder.read_bindings()
    points = [event.values for event in said if isinstance(event, Points)]
    for values in points:
        if (values.get(series.HELDOUT_ACCURACY) or 0.0) >= case["target"]:
            steps = [of_step for of_step in points if series.COMMUNICATION_S in of_step]
            return {
                "seconds": values[series.TRAINED_S],
                "epochs": values[series.EPOCH],
                "communication_share": share(steps),
                "bound": [f"cpus {rank.cpus}, {rank.threads} threads" for rank in bindings.ranks] if bindings else [],
            }
    raise ValueError(f"{case['target']:.0%} was not reached with P = {parts} and seed {seed}")


def share(steps: list[dict[str, float | None]]) -> float:
    """Communication's share of all steps' time."""
    names = (series.COMPUTE_S, series.COMMUNICATION_S, series.INPUT_S, series.IDLE_S)
    sums = {name: sum(values.get(name) or 0.0 for values in steps) for name in names}
    return sums[series.COMMUNICATION_S] / sum(sums.values())


def carry_out(folder: RunFolder, parts: int) -> None:
    """Start a task for every part, as srun would, and wait for all."""
    tasks = []
    for task in range(parts):
        told = {"SLURM_JOB_ID": "1", "SLURM_NODEID": "0", "SLURMD_NODENAME": "localhost"}
        told |= {"SLURM_PROCID": str(task), "SLURM_LOCALID": str(task)}
        told |= {"SLURM_NTASKS": str(parts), "SLURM_STEP_TASKS_PER_NODE": str(parts)}
        command = [sys.executable, "-m", "trainers", str(folder.path)]
        tasks.append(subprocess.Popen(command, env={**os.environ, **told}, stdout=subprocess.DEVNULL))
    try:
        statuses = [process.wait(PATIENCE_S) for process in tasks]
    finally:
        for process in tasks:
            process.kill()
    if any(statuses):
        raise RuntimeError(f"a run of {parts} parts failed")


def cores() -> int:
    return len(os.sched_getaffinity(0))


def numa_nodes() -> int:
    return len(list(Path("/sys/devices/system/node").glob("node[0-9]*")))


if __name__ == "__main__":
    main()
