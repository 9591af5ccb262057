"""The time that a rank waits for its input: `make bench NAME=input`, about two minutes.

ResNet-18 trains on 224 x 224 crops of JPEGs of 500 x 375 pixels, with one rank on this machine's cores. The benchmark
measures the share of a step that the rank waits for its batch: with images decoded by the rank itself, by one worker,
by two workers, and with the files' bytes in memory. All variants use the same images in the same order, after two
warm-up steps.
"""

import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from PIL import Image
from torch import Tensor
from torch.distributed import HashStore  # type: ignore[attr-defined]
from torch.nn.functional import cross_entropy

from trainers.data.images.bad_images import BadImages
from trainers.data.images.image_folder import ImageList, list_images
from trainers.data.images.image_split import Images, new_bad_marks
from trainers.data.loader import load
from trainers.data.memory_store.sample_store import SampleStore
from trainers.data.split import Split, to_device
from trainers.models.resnet import ResNet

BATCH, STEPS, WARM = 16, 10, 2
COUNT = BATCH * (STEPS + WARM)
CLASSES, SIZE, SIDES = 4, 224, (500, 375)
COLORS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TARGET = 0.05
RESULT = Path(__file__).parent.parent / "results" / "input.json"


def main() -> None:
    """Measure every way of loading, print a table and write the report."""
    load_before = os.getloadavg()[0]
    dist.init_process_group("gloo", store=HashStore(), rank=0, world_size=1)
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder))
        train, _, _ = list_images(Path(folder))
        rows = [measure(name, split, workers) for name, split, workers in ways(train)]
    dist.destroy_process_group()
    for row in rows:
        result = "met" if row["input_share"] < TARGET else "NOT met"
        print(
            f"{row['way']:22} {row['workers']} workers: waits {row['input_share']:6.2%} of a step "
            f"({row['images_per_s']:.1f} images/s); under {TARGET:.0%}: {result}"
        )
    machine: dict[str, Any] = {"machine": platform.machine(), "system": platform.system(), "cores": os.cpu_count()}
    machine["threads"] = torch.get_num_threads()
    machine["load_before_and_after"] = [load_before, os.getloadavg()[0]]
    versions = {name: version(name) for name in ("torch", "pillow")} | {"python": platform.python_version()}
    setting = {"model": "resnet18", "batch": BATCH, "steps": STEPS, "size": SIZE, "jpeg": SIDES, "target": TARGET}
    RESULT.parent.mkdir(exist_ok=True)
    report = {"machine": machine, "versions": versions, "setting": setting, "rows": rows}
    RESULT.write_text(json.dumps(report, indent=1) + "\n")


def draw(root: Path) -> None:
    """Write JPEGs with as much detail as photographs, about 60 kB each."""
    generator = np.random.default_rng(0)
    for number in range(COUNT + COUNT // 8):
        folder = root / f"class{number % CLASSES}"
        folder.mkdir(exist_ok=True)
        coarse = Image.fromarray(generator.integers(0, 256, (75, 100, 3), dtype=np.uint8))
        coarse.resize(SIDES, Image.Resampling.BICUBIC).save(folder / f"{number}.jpg", quality=90)


def ways(train: ImageList) -> Iterator[tuple[str, Split, int]]:
    """Yield name, split and number of workers of every way of loading."""
    for workers in (0, 1, 2):
        yield "files", images(train), workers
    for workers in (0, 1):
        staged = images(train, SampleStore(train, shared=workers > 0)).stage(
            0, samples_of=lambda ranks: torch.cat(steps()).unsqueeze(0)
        )
        yield "memory", staged, workers


def images(train: ImageList, store: SampleStore | None = None) -> Images:
    """Return the split of the images with random crops."""
    bad = BadImages(train.root / "bad-images", 0)
    return Images(train, SIZE, *COLORS, bad, new_bad_marks(len(train)), seed=0, store=store)


def steps() -> list[Tensor]:
    """Return the indices of every step\'s batch."""
    order_N = torch.randperm(COUNT, generator=torch.Generator().manual_seed(0))
    return list(torch.split(order_N, BATCH))


def measure(way: str, split: Split, workers: int) -> dict[str, Any]:
    """Train on every batch; return a row with the waiting times."""
    torch.manual_seed(0)
    model = ResNet(3, CLASSES, depth=18)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    waits_s, works_s = [], []
    with closing(load(split, steps(), workers=workers)) as batches:
        for _ in range(STEPS + WARM):
            began = time.perf_counter()
            (x_BCHW,), y_B = to_device(next(batches), split, torch.device("cpu"))
            received = time.perf_counter()
            optimizer.zero_grad()
            cross_entropy(model(x_BCHW), y_B).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            waits_s.append(received - began)
            works_s.append(time.perf_counter() - received)
    waits_s, works_s = waits_s[WARM:], works_s[WARM:]
    total_s = sum(waits_s) + sum(works_s)
    return {
        "way": way,
        "workers": workers,
        "input_share": sum(waits_s) / total_s,
        "median_wait_s": statistics.median(waits_s),
        "median_compute_s": statistics.median(works_s),
        "images_per_s": BATCH * STEPS / total_s,
    }


if __name__ == "__main__":
    main()
