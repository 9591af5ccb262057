"""Photographs of ImageNet's usual size, 500 x 375: sections of the two that scikit-learn has (640 x 427 pixels)."""

from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_images

WIDTH, HEIGHT = 500, 375
SECTION = 569, 427  # of the same shape as the photographs that are made of it
CLASSES = 2
QUALITY = 95  # such JPEGs have about as many bytes as those of ImageNet, whose mean is 110 kB


def photographs(count: int) -> list[Image.Image]:
    """Return sections that differ in their place and are mirrored every second time; the class is the number mod 2."""
    sources = [Image.fromarray(np.asarray(pixels)) for pixels in load_sample_images().images]
    return [_section(sources[number % CLASSES], number // CLASSES, count // CLASSES) for number in range(count)]


def _section(source: Image.Image, place: int, places: int) -> Image.Image:
    left = (source.width - SECTION[0]) * place // max(1, places - 1)
    section = source.crop((left, 0, left + SECTION[0], SECTION[1]))
    shrunk = section.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
    return shrunk.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if place % 2 else shrunk


def write_folder(root: Path, images: list[Image.Image]) -> None:
    """Write the images as JPEGs into class folders for training; every class holds out its first image too."""
    for number, image in enumerate(images):
        for split in ("train", "val") if number < CLASSES else ("train",):
            folder = root / split / f"class{number % CLASSES}"
            folder.mkdir(parents=True, exist_ok=True)
            image.save(folder / f"{number:03}.jpg", quality=QUALITY)
