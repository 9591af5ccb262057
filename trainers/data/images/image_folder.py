"""The images in a folder: where each file lies and which class its folder makes it.

    PATH/train/CLASS/IMAGE.jpg and PATH/val/CLASS/IMAGE.jpg, or PATH/CLASS/IMAGE.jpg alone

Classes are numbered in the order of their names, and so are the files of a class: every rank that reads the folder
finds the same image under the same number. Without val/, a fixed shuffle holds some of the images out.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

ENDINGS = (".jpg", ".jpeg", ".png")
TRAIN, HELDOUT = "train", "val"
SHUFFLE_SEED = 0  # one split for all runs, so that their accuracies compare


@dataclass(frozen=True)
class Listing:
    """Numbered image files and their classes; names are one array, which a worker process takes over quickly."""

    root: Path
    name_N: np.ndarray  # fixed-width bytes, relative to the root
    labels: Tensor  # y_N

    def __len__(self) -> int:
        return len(self.labels)

    def path(self, number: int) -> Path:
        return self.root / os.fsdecode(bytes(self.name_N[number]))

    def read(self, number: int) -> bytes:
        """The file as it lies there."""
        return self.path(number).read_bytes()

    def part(self, number_N: Tensor) -> "Listing":
        """Some of the images, numbered anew."""
        return Listing(self.root, self.name_N[number_N.numpy()], self.labels[number_N])


def listings(root: Path, *, heldout_samples: int | None = None) -> tuple[Listing, Listing, list[str]]:
    """Return the training and the held-out images and the names of the classes.

    `heldout_samples` is how many to hold out where there is no val/; none: every tenth. Raises ValueError that names
    the folder where there are no classes, one is empty, or val/ has other ones.
    """
    if not root.is_dir():
        raise ValueError(f"there is no folder {root}")
    if not (root / TRAIN).is_dir():
        classes = _classes(root)
        return *_hold_out(_list(root, classes), heldout_samples), classes
    classes = _classes(root / TRAIN)
    if not (root / HELDOUT).is_dir():
        return *_hold_out(_list(root / TRAIN, classes), heldout_samples), classes
    if others := sorted(set(_classes(root / HELDOUT)) ^ set(classes)):
        raise ValueError(f"{root / TRAIN} and {root / HELDOUT} have other classes: {_few(others)} is in one alone")
    return _list(root / TRAIN, classes), _list(root / HELDOUT, classes), classes


def agree(root: Path, found: Sequence[int], stated: Sequence[int]) -> None:
    """Raise ValueError unless a folder holds what the spec states: classes, training and held-out samples."""
    names = ("classes", "train_samples", "heldout_samples")
    wrong = [
        f"data.{name} is {wanted}, but there are {there}"
        for name, there, wanted in zip(names, found, stated, strict=True)
        if there != wanted
    ]
    if wrong:
        raise ValueError(f"{root} is not what the spec states: {'; '.join(wrong)}")


def _classes(folder: Path) -> list[str]:
    classes = sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith("."))
    if len(classes) < 2:
        raise ValueError(f"{folder} has {len(classes)} class folders; at least 2 are needed")
    return classes


def _list(folder: Path, classes: Sequence[str]) -> Listing:
    files = [_images(folder / name) for name in classes]
    if empty := [name for name, found in zip(classes, files, strict=True) if not found]:
        raise ValueError(f"{folder} has no image ({', '.join(ENDINGS)}) in the class folders {_few(empty)}")
    names = [os.fsencode(f"{name}/{file}") for name, found in zip(classes, files, strict=True) for file in found]
    counts_K = torch.tensor([len(found) for found in files])
    return Listing(folder, np.array(names), torch.arange(len(classes)).repeat_interleave(counts_K))


def _images(folder: Path) -> list[str]:
    return sorted(entry.name for entry in os.scandir(folder) if entry.name.lower().endswith(ENDINGS))


def _hold_out(every: Listing, heldout_samples: int | None) -> tuple[Listing, Listing]:
    held = len(every) // 10 if heldout_samples is None else heldout_samples
    if not 0 < held < len(every):
        raise ValueError(f"{held} of the {len(every)} images in {every.root} cannot be held out")
    order_N = torch.randperm(len(every), generator=torch.Generator().manual_seed(SHUFFLE_SEED))
    return every.part(order_N[held:].sort().values), every.part(order_N[:held].sort().values)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
