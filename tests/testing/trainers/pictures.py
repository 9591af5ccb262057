"""Folders of small JPEG and PNG files for tests."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
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


def pictures(n: int, side: int, seed: int) -> NDArray[np.uint8]:
    """Return pictures in color (n, side, side, 3) whose power falls with the frequency, as that of photographs does."""
    rng = np.random.default_rng(seed)
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.rfftfreq(side), indexing="ij"))
    frequency[0, 0] = 1
    wave = np.fft.rfft2(rng.standard_normal((n, 3, side, side))) / frequency
    wave[:, :, 0, 0] = 0
    x = np.fft.irfft2(wave, s=(side, side))
    x = 128 + 45 * x / x.std(axis=(2, 3), keepdims=True)
    pixels: NDArray[np.uint8] = np.clip(x, 0, 255).astype(np.uint8).transpose(0, 2, 3, 1)
    return pixels
