"""The image files in a folder and their classes.

    PATH/train/CLASS/IMAGE.jpg and PATH/val/CLASS/IMAGE.jpg, or PATH/CLASS/IMAGE.jpg only

Classes are numbered in the order of their names, and so are the files of a class, so every rank that reads the folder
gives an image the same number. Without val/, a fixed shuffle selects the held-out images.
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
SHUFFLE_SEED = 0  # the same split in all runs, so that their accuracies are comparable


@dataclass(frozen=True)
class ImageList:
    """Numbered image files and their classes; the names are one array, which is sent quickly to worker processes."""

    root: Path
    name_N: np.ndarray  # fixed-width bytes, relative to the root
    labels: Tensor  # y_N

    def __len__(self) -> int:
        return len(self.labels)

    def path(self, number: int) -> Path:
        """Return the path of an image."""
        return self.root / os.fsdecode(bytes(self.name_N[number]))

    def read(self, number: int) -> bytes:
        """Return the bytes of an image file."""
        return self.path(number).read_bytes()

    def size(self, number: int) -> int:
        """Return the number of bytes of an image file."""
        return self.path(number).stat().st_size

    def select(self, number_N: Tensor) -> "ImageList":
        """Return some of the images, numbered from 0."""
        return ImageList(self.root, self.name_N[number_N.numpy()], self.labels[number_N])


def list_images(root: Path, *, heldout_samples: int | None = None) -> tuple[ImageList, ImageList, list[str]]:
    """Return the training images, the held-out images and the names of the classes.

    `heldout_samples` is the number of held-out images if there is no val/, by default a tenth. Raises ValueError with
    the folder's name if there are no classes, a class is empty, or val/ has other classes.
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
        raise ValueError(
            f"{root / TRAIN} and {root / HELDOUT} differ in their classes: {_shorten(others)} is in only one of them"
        )
    return _list(root / TRAIN, classes), _list(root / HELDOUT, classes), classes


def has_classes(root: Path) -> bool:
    """Return whether a folder has the layout of a data set: train/, or several class folders."""
    return (root / TRAIN).is_dir() or len(_folders(root)) > 1


def check_counts(root: Path, found: Sequence[int], stated: Sequence[int]) -> None:
    """Raise ValueError unless the counts match the spec: classes, training samples, held-out samples."""
    names = ("classes", "train_samples", "heldout_samples")
    wrong = [
        f"data.{name} is {wanted}, but the data set has {actual}"
        for name, actual, wanted in zip(names, found, stated, strict=True)
        if actual != wanted
    ]
    if wrong:
        raise ValueError(f"{root} does not match the spec: {'; '.join(wrong)}")


def _classes(folder: Path) -> list[str]:
    classes = _folders(folder)
    if len(classes) < 2:
        raise ValueError(f"{folder} has {len(classes)} class folders; at least 2 are needed")
    return classes


def _folders(folder: Path) -> list[str]:
    return sorted(entry.name for entry in os.scandir(folder) if entry.is_dir() and not entry.name.startswith("."))


def _list(folder: Path, classes: Sequence[str]) -> ImageList:
    files = [_images(folder / name) for name in classes]
    if empty := [name for name, found in zip(classes, files, strict=True) if not found]:
        raise ValueError(f"{folder} has no image ({', '.join(ENDINGS)}) in the class folders {_shorten(empty)}")
    names = [os.fsencode(f"{name}/{file}") for name, found in zip(classes, files, strict=True) for file in found]
    counts_K = torch.tensor([len(found) for found in files])
    return ImageList(folder, np.array(names), torch.arange(len(classes)).repeat_interleave(counts_K))


def _images(folder: Path) -> list[str]:
    return sorted(entry.name for entry in os.scandir(folder) if entry.name.lower().endswith(ENDINGS))


def _hold_out(every: ImageList, heldout_samples: int | None) -> tuple[ImageList, ImageList]:
    heldout = len(every) // 10 if heldout_samples is None else heldout_samples
    if not 0 < heldout < len(every):
        raise ValueError(f"{heldout} of the {len(every)} images in {every.root} cannot be held out")
    order_N = torch.randperm(len(every), generator=torch.Generator().manual_seed(SHUFFLE_SEED))
    return every.select(order_N[heldout:].sort().values), every.select(order_N[:heldout].sort().values)


def _shorten(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
