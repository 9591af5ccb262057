"""Volumes from a seed: bright ellipsoids in noise, and whether each voxel is inside one of them.

A volume of N voxels has about N / 12^3 bodies with half axes of 2 to 5 voxels. A voxel has 1 inside and 0 outside, plus
noise of deviation 0.5: single voxels tell little, their neighborhood tells much. The numbers of a volume depend on its
seed alone.
"""

from math import prod

import numpy as np
import torch
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray
from torch import Tensor

SPACING, HALF_AXES, NOISE = 12, (2.0, 5.0), 0.5
CLASSES = 2  # outside, inside


def draw_bodies(shape: tuple[int, int, int], *seeds: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Return x_ZYX, and which voxels are inside a body."""
    draw = Generator(PCG64(SeedSequence(seeds)))
    inside_ZYX = np.zeros(shape, bool)
    for _ in range(max(1, round(prod(shape) / SPACING**3))):
        center, half = draw.random(3) * shape, draw.uniform(*HALF_AXES, 3)
        low = [max(0, int(c - h)) for c, h in zip(center, half, strict=True)]
        high = [min(n, int(c + h) + 2) for c, h, n in zip(center, half, shape, strict=True)]
        z, y, x = (((np.arange(a, b) + 0.5 - c) / h) ** 2 for a, b, c, h in zip(low, high, center, half, strict=True))
        part = inside_ZYX[low[0] : high[0], low[1] : high[1], low[2] : high[2]]
        part |= z[:, None, None] + y[:, None] + x < 1
    x_ZYX = inside_ZYX + np.float32(NOISE) * draw.standard_normal(shape, dtype=np.float32)
    return x_ZYX, inside_ZYX


class Bodies:
    """A split of cubes, drawn when a batch is read."""

    def __init__(self, edge: int, *, first: int, length: int, seed: int) -> None:
        self._edge, self._first, self._length, self._seed = edge, first, length, seed

    def __len__(self) -> int:
        return self._length

    def target_numbers(self) -> Tensor:
        """Return what the cubes are drawn from."""
        return torch.tensor([self._edge, self._first, self._seed])

    def batch(self, index_B: Tensor) -> tuple[Tensor, Tensor]:
        """Return x_BCZYX and the class of each voxel, y_BZYX."""
        shape = self._edge, self._edge, self._edge
        pairs = [draw_bodies(shape, self._seed, self._first + index) for index in index_B.tolist()]
        x_BZYX = torch.from_numpy(np.stack([x_ZYX for x_ZYX, _ in pairs]))
        return x_BZYX[:, None], torch.from_numpy(np.stack([inside_ZYX for _, inside_ZYX in pairs])).long()


def bodies(edge: int, *, train_samples: int, heldout_samples: int, seed: int) -> tuple[Bodies, Bodies]:
    """Return a training and a held-out split of cubes with `edge` voxels along each axis, which share no cube."""
    train = Bodies(edge, first=0, length=train_samples, seed=seed)
    return train, Bodies(edge, first=train_samples, length=heldout_samples, seed=seed)
