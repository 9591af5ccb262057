"""The loss curves of 200 steps of one GPT: on one rank, and on a line, a square and a cube of ranks.

`make bench NAME=tensor.curves` writes benchmarks/results/tensor_curves.json: the largest difference of a loss from
the dense run, the words that a step moves, and the seconds that the ranks spent in collectives on this machine.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from contract.folder.events import Points, event_reader
from contract.folder.run_folder import RunFolder
from contract.spec.run import RunSpec
from trainers.tensor.calls import Sizes, words_of_pass
from trainers.tensor.mesh import Shape

STEPS, BATCH = 200, 16
SIZES = Sizes(samples=BATCH, context=32, width=64, layers=2, vocabulary=256)
MESHES: dict[str, dict[str, Any] | None] = {
    "dense": None,
    "1-D on 2": {"kind": "one_d", "ranks": 2},
    "1-D on 4": {"kind": "one_d", "ranks": 4},
    "2-D on 4": {"kind": "two_d", "q": 2},
    "1-D on 8": {"kind": "one_d", "ranks": 8},
    "3-D on 8": {"kind": "three_d", "q": 2},
}
RESULTS = Path(__file__).parents[1] / "results"


def main() -> None:
    """Run every mesh, print a line for each, and write the report."""
    load, rows = os.getloadavg()[0], dict[str, Any]()
    dense: list[float] = []
    for name, tensor in MESHES.items():
        points = execute(tensor)
        losses = [values["loss"] for values in points if "loss" in values]
        heldout = [values["heldout_loss"] for values in points if "heldout_loss" in values]
        dense = dense or losses
        rows[name] = {
            "losses": losses,
            "heldout_loss": heldout[-1],
            "largest_difference": max(abs(one - other) for one, other in zip(losses, dense, strict=True)),
            "communication_s": sum(values["communication_s"] for values in points if "loss" in values) / len(losses),
            "words_per_rank": words_per_rank(tensor),
        }
        print(
            f"{name}: loss {losses[0]:.4f} to {losses[-1]:.4f}, held-out {heldout[-1]:.4f}, largest difference "
            f"{rows[name]['largest_difference']:.1e}, {rows[name]['words_per_rank']:,.0f} words per rank and step",
            flush=True,
        )
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.release()}"
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    report = {"machine": machine, "versions": versions, "load": load, "spec": spec(None), "rows": rows}
    (RESULTS / "tensor_curves.json").write_text(json.dumps(report) + "\n")


def spec(tensor: dict[str, Any] | None) -> dict[str, Any]:
    """Return the run on a mesh."""
    ranks = 1 if tensor is None else Shape(tensor["kind"], tensor.get("ranks") or tensor["q"]).size
    return {
        "model": {"kind": "gpt", "layers": SIZES.layers, "width": SIZES.width, "heads": 8},
        "data": {"kind": "text", "context": SIZES.context, "train_samples": STEPS * BATCH, "heldout_samples": 64},
        "optimizer": {"kind": "adamw", "beta2": 0.98},
        "schedule": {"kind": "constant", "rate": 0.003},
        "batch": BATCH,
        "epochs": 1,
        "tensor": tensor,
        "resources": {"kind": "local", "ranks_per_node": ranks},
    }


def execute(tensor: dict[str, Any] | None) -> list[dict[str, float]]:
    """Carry a run out in processes of its own; return the points that it reports."""
    with tempfile.TemporaryDirectory() as home:
        folder = RunFolder(Path(home) / "run")
        folder.prepare(RunSpec.model_validate(spec(tensor)))
        subprocess.run([sys.executable, "-m", "trainers", str(folder.path)], check=True, stdout=subprocess.DEVNULL)
        events = [event_reader.validate_json(line) for line in folder.events.read_bytes().splitlines()]
    points = [event.values for event in events if isinstance(event, Points)]
    return [{name: value for name, value in values.items() if value is not None} for values in points]


def words_per_rank(tensor: dict[str, Any] | None) -> float:
    """Return the words that a rank sends in a step, the mean over the ranks."""
    if tensor is None:
        return 0.0
    shape = Shape(tensor["kind"], tensor.get("ranks") or tensor["q"])
    return words_of_pass(shape, SIZES) / shape.size


if __name__ == "__main__":
    main()
