"""Asynchronous rules with and without a pace, on this machine: `make bench NAME=defaults.pace`, a quarter of an hour.

Without a pace (`pace: free`, as in the papers) no replica waits, and rank 0, which needs no connection to its own
center, takes its steps before the others. Each case is measured with three seeds: held-out accuracy of the center after
every epoch of rank 0, the time until it is 0.95, and the wall time of the whole run, to the last rank's last step.
"""

import json
import platform
import statistics
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from typing import Any

import torch

from contract.folder.events import Points, event_reader
from contract.folder.run_folder import RunFolder
from contract.metric_names import HELDOUT_ACCURACY, TRAINED_S
from contract.spec.run import RunSpec

REPORT = Path(__file__).parents[1] / "results" / "pace.json"
SEEDS, TARGET, EPOCHS = [1, 2, 3], 0.95, 12
RULES: dict[str, tuple[dict[str, Any], float, float]] = {  # rule, rate, momentum
    "Async EASGD": ({"kind": "easgd", "variant": "async"}, 0.2, 0.0),
    "Async MEASGD": ({"kind": "easgd", "variant": "async"}, 0.02, 0.9),
    "Hogwild EASGD": ({"kind": "easgd", "variant": "hogwild"}, 0.2, 0.0),
    "Async SGD": ({"kind": "async_sgd"}, 0.1, 0.0),
    "Async MSGD": ({"kind": "async_sgd"}, 0.01, 0.9),
}
WORLDS, PACES = [2, 4], ["paced", "free"]


def run_once(name: str, world: int, pace: str, seed: int) -> list[dict[str, float | None]]:
    """Train one run in a job of its own, and return its evaluations; none if it failed."""
    rule, rate, momentum = RULES[name]
    run = {
        "data": {"kind": "digits"},
        "optimizer": {"kind": "sgd", "momentum": momentum},
        "schedule": {"kind": "constant", "rate": rate},
        "rule": {**rule, "pace": pace},
        "batch": 16 * world,
        "epochs": EPOCHS,
        "seed": seed,
        "resources": {"kind": "local", "ranks_per_node": world},
    }
    with tempfile.TemporaryDirectory() as home:
        folder = RunFolder(Path(home) / "run")
        folder.prepare(RunSpec.model_validate(run))
        subprocess.run([sys.executable, "-m", "trainers", str(folder.path)], check=False, stdout=subprocess.DEVNULL)
        events = [event_reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
    return [dict(event.values) for event in events if isinstance(event, Points) and HELDOUT_ACCURACY in event.values]


def measure(name: str, world: int, pace: str) -> dict[str, Any]:
    """Return the row of one case: its medians over the seeds, and every accuracy."""
    runs = [run_once(name, world, pace, seed) for seed in SEEDS]
    to_target = [next((at[TRAINED_S] for at in run if (at[HELDOUT_ACCURACY] or 0) >= TARGET), None) for run in runs]
    row: dict[str, Any] = {"rule": name, "ranks": world, "pace": pace}
    row["first epoch"] = statistics.median(run[0][HELDOUT_ACCURACY] or 0.0 for run in runs)
    row["last epoch"] = statistics.median(run[-1][HELDOUT_ACCURACY] or 0.0 for run in runs)
    row["trained_s"] = statistics.median(run[-1][TRAINED_S] or 0.0 for run in runs)
    row["reached"] = sum(seconds is not None for seconds in to_target)
    row["to_target_s"] = statistics.median(seconds for seconds in to_target if seconds) if any(to_target) else None
    print(" ".join(f"{value:8.3f}" if isinstance(value, float) else f"{value!s:14}" for value in row.values()))
    return row | {"accuracies": [[at[HELDOUT_ACCURACY] for at in run] for run in runs], "to_target": to_target}


def main() -> None:
    """Measure every case, print a table and write the report."""
    rows = [measure(*case) for case in product(RULES, WORLDS, PACES)]
    report = {"machine": platform.system(), "python": platform.python_version(), "torch": torch.__version__}
    REPORT.write_text(json.dumps({**report, "seeds": SEEDS, "epochs": EPOCHS, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
