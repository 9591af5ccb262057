"""The wait for the first batch of an epoch and of an evaluation: `make bench NAME=input.epochs`, about a minute.

A rank reads 4 epochs of JPEGs, and after each of them the held-out images, with 2 workers; a step and an evaluation
pass compute nothing but take as long as two workers need to load a batch twice over. The benchmark measures the wait
for the first batch of each, and compares with workers that start for every epoch and evaluation.
"""

import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from importlib.metadata import version
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.input.__main__ import BATCH, STEPS, draw, images
from trainers.data.images.image_folder import list_images
from trainers.data.images.image_split import Images
from trainers.data.loader import Batches, Loader
from trainers.data.sampler import permutation, slices

EPOCHS, WORKERS, STEP_S = 4, 2, 0.2
TARGET_S = 0.05
RESULT = Path(__file__).parent.parent / "results" / "input_epochs.json"


def main() -> None:
    """Measure both ways, print a table and write the report."""
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        draw(Path(folder))
        train, heldout, _ = list_images(Path(folder))
        splits = images(train), images(heldout)
        rows = {"anew": anew(*splits), "lasting": lasting(*splits)}
    for way, waits in rows.items():
        for kind, waits_s in waits.items():
            result = "met" if max(waits_s) < TARGET_S else "NOT met"
            shown = ", ".join(f"{1000 * wait_s:.0f}" for wait_s in waits_s)
            print(
                f"workers {way:8} first batch of {kind:10} after {shown} ms; under {TARGET_S * 1000:.0f} ms: {result}"
            )
    machine = {"machine": platform.machine(), "cores": os.cpu_count(), "load": [load_before, os.getloadavg()[0]]}
    versions = {"torch": version("torch"), "python": platform.python_version()}
    setting = {"batch": BATCH, "steps": STEPS, "epochs": EPOCHS, "workers": WORKERS, "step_s": STEP_S}
    medians = {way: {kind: statistics.median(waits) for kind, waits in row.items()} for way, row in rows.items()}
    report = {"machine": machine, "versions": versions, "setting": setting, "waits_s": rows, "median_s": medians}
    RESULT.write_text(json.dumps(report, indent=1) + "\n")


def anew(train: Images, heldout: Images) -> dict[str, list[float]]:
    """Return the waits in all epochs but the first, with workers that start for each epoch and evaluation."""
    waits: dict[str, list[float]] = {"training": [], "evaluation": []}
    for epoch in range(EPOCHS):
        for kind, split, indices in (
            ("training", train, order(train, epoch)),
            ("evaluation", heldout, passes(heldout)),
        ):
            with closing(Loader(WORKERS)) as loader:
                waits[kind].append(read(partial(loader.batches, split, indices)))
    return {kind: waits_s[1:] for kind, waits_s in waits.items()}


def lasting(train: Images, heldout: Images) -> dict[str, list[float]]:
    """Return the waits in all epochs but the first, with the same workers throughout, which load ahead."""
    waits: dict[str, list[float]] = {"training": [], "evaluation": []}
    ahead: list[Batches] = []
    with closing(Loader(WORKERS)) as loader:

        def load_ahead(epoch: int) -> None:
            ahead.extend([loader.batches(heldout, passes(heldout)), training(epoch)])
            for batches in ahead:
                batches.fill()

        def training(epoch: int) -> Batches:
            return loader.batches(train, order(train, epoch), at_last=lambda: load_ahead(epoch + 1))

        ahead.append(training(0))
        for _ in range(EPOCHS):
            waits["training"].append(read(lambda: ahead.pop(0)))
            waits["evaluation"].append(read(lambda: ahead.pop(0)))
    return {kind: waits_s[1:] for kind, waits_s in waits.items()}


def order(train: Images, epoch: int) -> Iterator[Tensor]:
    """Yield the samples of each step."""
    return slices(permutation(len(train), seed=0, epoch=epoch)[: BATCH * STEPS], BATCH, rank=0, world=1)


def passes(heldout: Images) -> tuple[Tensor, ...]:
    """Return the samples of each pass of an evaluation."""
    return torch.split(torch.arange(len(heldout)), BATCH)


def read(open_batches: Callable[[], Batches]) -> float:
    """Read all batches; return the seconds until the first."""
    start = time.perf_counter()
    wait_s = 0.0
    with closing(open_batches()) as batches:
        for _ in batches:
            wait_s = wait_s or time.perf_counter() - start
            time.sleep(STEP_S)
    return wait_s


if __name__ == "__main__":
    main()
