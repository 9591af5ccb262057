"""The lattice of patches over a volume, and their weights (Chunkflow: Wu et al., 2021, doi 10.1038/s41592-021-01088-5).

Along an axis of length L, patches of P voxels that overlap by O start at 0, P - O, 2 (P - O), ...; the last one ends at
L. The weight of a patch falls smoothly to its sides, b(t) = exp(1 - 1 / (1 - t^2)) with t in (-1, 1), and is divided by
the sum over all patches at each voxel:

    w_p(i) = b_p(i) / sum_q b_q(i)

The weight of a voxel in three dimensions is the product over the axes, so the weights of all patches sum to one at
every voxel. The lattice belongs to the volume and not to a chunk, so a result does not depend on the cut into chunks.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainers.volume.chunks import Box, Shape

Weights = NDArray[np.float64]
LEAST = 1e-8  # of the largest weight: a patch's outermost voxels have a weight that float64 divides without loss


def bump(length: int) -> Weights:
    """Return b at the centers of `length` voxels, at least LEAST."""
    t_P = (2 * np.arange(length) + 1) / length - 1
    return np.maximum(np.exp(1 - 1 / (1 - t_P**2)), LEAST)


@dataclass(frozen=True)
class Axis:
    """The patches along one axis: where each starts, and its weights, which sum to one at every voxel."""

    patch: int
    starts: tuple[int, ...]
    weights: tuple[Weights, ...]

    def touching(self, side: slice) -> range:
        """Return the numbers of the patches that have a voxel of `side`."""
        found = [
            number for number, start in enumerate(self.starts) if start < side.stop and side.start < start + self.patch
        ]
        return range(found[0], found[-1] + 1)


def cut_axis(length: int, patch: int, overlap: int) -> Axis:
    """Return the patches along an axis of `length` voxels; a patch is at most as long as the axis."""
    if not 0 <= overlap < patch:
        raise ValueError(f"patches of {patch} voxels cannot overlap by {overlap}")
    size = min(patch, length)
    starts = (*range(0, length - size, patch - overlap), length - size)
    bump_P, sum_L = bump(size), np.zeros(length)
    for start in starts:
        sum_L[start : start + size] += bump_P
    return Axis(size, starts, tuple(bump_P / sum_L[start : start + size] for start in starts))


@dataclass(frozen=True)
class Patch:
    """One patch: its voxels, and its weights along each axis."""

    box: Box
    weights: tuple[Weights, Weights, Weights]

    def within(self, box: Box) -> tuple[Box, Weights]:
        """Return the voxels that the patch shares with `box`, and the weights there."""
        sides, parts = [], []
        for own, other, weight_P in zip(self.box, box, self.weights, strict=True):
            side = slice(max(own.start, other.start), min(own.stop, other.stop))
            sides.append(side)
            parts.append(weight_P[side.start - own.start : side.stop - own.start])
        z, y, x = sides
        return (z, y, x), parts[0][:, None, None] * parts[1][:, None] * parts[2]


class Lattice:
    """All patches over a volume."""

    def __init__(self, shape: Shape, patch: Shape, overlap: Shape) -> None:
        z, y, x = (cut_axis(*sizes) for sizes in zip(shape, patch, overlap, strict=True))
        self.axes = z, y, x

    def touching(self, box: Box) -> Iterator[Patch]:
        """Yield the patches that have a voxel of `box`, in the same order for every box."""
        z_axis, y_axis, x_axis = self.axes
        for z in z_axis.touching(box[0]):
            for y in y_axis.touching(box[1]):
                for x in x_axis.touching(box[2]):
                    yield self._patch((z, y, x))

    def reach(self, box: Box) -> Box:
        """Return the voxels of all patches that have a voxel of `box`: what a chunk reads."""
        sides = []
        for axis, side in zip(self.axes, box, strict=True):
            numbers = axis.touching(side)
            sides.append(slice(axis.starts[numbers[0]], axis.starts[numbers[-1]] + axis.patch))
        z, y, x = sides
        return z, y, x

    def _patch(self, numbers: Shape) -> Patch:
        pairs = list(zip(self.axes, numbers, strict=True))
        z, y, x = (slice(axis.starts[number], axis.starts[number] + axis.patch) for axis, number in pairs)
        w_z, w_y, w_x = (axis.weights[number] for axis, number in pairs)
        return Patch((z, y, x), (w_z, w_y, w_x))
