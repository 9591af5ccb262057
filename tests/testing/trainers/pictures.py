"""Folders of small JPEG and PNG files for tests."""

from pathlib import Path

import numpy as np
from PIL import Image


def draw(folder: Path, *, count: int, side: tuple[int, int] = (48, 40), seed: int = 0) -> None:
    """Write images with one random color each; every third is a PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    color_N3 = np.random.default_rng(seed).integers(0, 256, (count, 3))
    for number, color in enumerate(color_N3.tolist()):
        Image.new("RGB", side, tuple(color)).save(folder / f"{number:03}.{'png' if number % 3 == 0 else 'jpg'}")


def tree(root: Path, counts: dict[str, int]) -> Path:
    """Write class folders; {"train/cat": 5} means five images of the class cat."""
    for number, (name, count) in enumerate(counts.items()):
        draw(root / name, count=count, seed=number)
    return root
