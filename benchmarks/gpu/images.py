"""The check of a job on photographs: JPEGs from a folder, decoded by the loader's processes, normalized on the GPU."""

import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.gpu.job import run_job
from benchmarks.gpu.place import Figures
from benchmarks.input.photographs import CLASSES, photographs, write_folder
from contract.folder.events import Points
from contract.metric_names import INPUT_S, LOSS, SAMPLES_PER_S, TIME_PARTS

DISTINCT, WARM_STEPS = 128, 5


def check_images(ranks: int, *, cpu: bool, timeout_s: float) -> Figures:
    """Train ResNet-50 on photographs for two epochs; return images/s and the share of a step that waits for input."""
    links, batch = (1, 16) if cpu else (160, 256)
    with tempfile.TemporaryDirectory() as path:
        samples = write_photographs(Path(path) / "photographs", links)
        spec: dict[str, Any] = {
            "model": {"kind": "resnet18" if cpu else "resnet50"},
            "data": {
                "kind": "folder",
                "path": str(Path(path) / "photographs"),
                "classes": CLASSES,
                "train_samples": samples,
                "heldout_samples": CLASSES,
                "size": 32 if cpu else 224,
            },
            "optimizer": {"kind": "sgd"},
            "schedule": {"kind": "constant", "rate": 0.01},
            "batch": batch * ranks,
            "epochs": 2,
            "precision": "bfloat16",
            "channels_last": True,
            "device": "cpu" if cpu else "gpu",
            "resources": {"kind": "local", "ranks_per_node": ranks},
        }
        events = run_job(spec, timeout_s=timeout_s)
    points = [event.values for event in events if isinstance(event, Points) and SAMPLES_PER_S in event.values]
    steps = [{name: value for name, value in values.items() if value is not None} for values in points]
    steps = steps[min(WARM_STEPS, len(steps) // 2) :]
    wall_s = sum(sum(values[part] for part in TIME_PARTS) for values in steps)
    return {
        "images_per_s": len(steps) * batch * ranks / wall_s,
        "median_images_per_s": statistics.median(values[SAMPLES_PER_S] for values in steps),
        "input_share": sum(values[INPUT_S] for values in steps) / wall_s,
        "cpus": len(os.sched_getaffinity(0)),
        "loss": steps[-1][LOSS],
    }


def write_photographs(folder: Path, links: int) -> int:
    """Write photographs into class folders, each under `links` names, and return the number of training files."""
    write_folder(folder, photographs(DISTINCT))
    for image in list((folder / "train").rglob("*.jpg")):
        for number in range(1, links):
            os.link(image, image.with_name(f"{image.stem}-{number}.jpg"))
    return DISTINCT * links
