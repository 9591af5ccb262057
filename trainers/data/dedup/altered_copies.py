"""Altered copies: images cropped, brightened and stored as a JPEG, with which a search of duplicates is tested.

An altered copy keeps the middle of the image: at most CROP of each side is cut off, and the rest is stretched to the
old size. Then gray levels become contrast x level + shift, and the image is encoded as a JPEG and decoded. A mirrored
image is no duplicate here.
"""

from dataclasses import dataclass
from io import BytesIO

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor
from torch.utils.data import Dataset

CROP = 0.02  # largest share of a side that is cut off at each end
CONTRAST, SHIFT = (0.8, 1.2), (-20.0, 20.0)  # of gray levels from 0 to 255
QUALITY = (60, 95)  # of JPEGs
DUPLICATES = 0.3

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class WithCopies:
    """Images x_NHW or x_NHWC, some of them altered copies of others; `original_N[n]`: the image that n is a copy of."""

    x_N: Pixels
    original_N: NDArray[np.int64]  # n itself for an image that is no copy


def alter(x: Pixels, rng: np.random.Generator, *, crop: float = CROP) -> Pixels:
    """Return an altered copy of one image of shape (H, W) or (H, W, 3); `crop`: the most that each end loses."""
    height, width = x.shape[:2]
    left, upper, right, lower = rng.uniform(0, crop, 4) * (width, height, width, height)
    image = Image.fromarray(x).resize(
        (width, height), Image.Resampling.BICUBIC, box=(left, upper, width - right, height - lower)
    )
    level = np.asarray(image, np.float64) * rng.uniform(*CONTRAST) + rng.uniform(*SHIFT)
    file = BytesIO()
    Image.fromarray(np.clip(np.rint(level), 0, 255).astype(np.uint8)).save(
        file, "JPEG", quality=int(rng.integers(*QUALITY))
    )
    with Image.open(file) as stored:
        return np.asarray(stored)


def inject(x_N: Pixels, share: float, seed: int, *, crop: float = CROP) -> WithCopies:
    """Replace a share of the images by altered copies of images that stay; the number of images stays too."""
    rng = np.random.default_rng(seed)
    order_N = rng.permutation(len(x_N))
    copies = round(share * len(x_N))
    copy_C, stay_S = order_N[:copies], order_N[copies:]
    original_N = np.arange(len(x_N))
    original_N[copy_C] = rng.choice(stay_S, copies)
    changed_N = x_N.copy()
    for copy in copy_C.tolist():
        changed_N[copy] = alter(x_N[original_N[copy]], rng, crop=crop)
    return WithCopies(changed_N, original_N)


def pair_scores(found_N: NDArray[np.int64], true_N: NDArray[np.int64]) -> tuple[float, float]:
    """Return precision and recall of the pairs of images that share a group; both arrays name the group of an image."""
    both = _pairs(np.stack([found_N, true_N]))
    found, true = _pairs(found_N[None]), _pairs(true_N[None])
    return both / found if found else 1.0, both / true if true else 1.0


def _pairs(groups_GN: NDArray[np.int64]) -> int:
    count_K = np.unique(groups_GN, axis=1, return_counts=True)[1]
    return int((count_K * (count_K - 1) // 2).sum())


class Samples(Dataset[tuple[Tensor, int]]):
    """Gray images and classes in memory; an item is a normalized image (1, H, W) and its class."""

    def __init__(self, x_NHW: Pixels, y_N: Tensor, *, mean: float, deviation: float) -> None:
        self.x_NHW, self.y_N = x_NHW, y_N
        self._mean, self._deviation = mean, deviation

    def __len__(self) -> int:
        return len(self.y_N)

    def __getitem__(self, number: int) -> tuple[Tensor, int]:
        x_1HW = torch.from_numpy(self.x_NHW[number]).float().unsqueeze(0)
        return (x_1HW - self._mean) / self._deviation, int(self.y_N[number])
