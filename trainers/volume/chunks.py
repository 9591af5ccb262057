"""The grid of chunks: a volume of Z x Y x X voxels is cut into parts, each of which is one task.

A part's edges are multiples of the storage blocks' edges, so that two tasks never write the same block.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

Shape = tuple[int, int, int]
Box = tuple[slice, slice, slice]  # of voxels, with start and stop


@dataclass(frozen=True)
class ChunkGrid:
    """The chunks of a volume of `shape`; those at its upper sides are smaller."""

    shape: Shape
    chunk: Shape

    def __post_init__(self) -> None:
        if min(*self.shape, *self.chunk) < 1:
            raise ValueError(f"a volume of {self.shape} voxels and chunks of {self.chunk} have an empty side")

    @property
    def counts(self) -> Shape:
        """The number of chunks along each axis."""
        z, y, x = (-(-length // size) for length, size in zip(self.shape, self.chunk, strict=True))
        return z, y, x

    def __len__(self) -> int:
        return prod(self.counts)

    def position(self, index: int) -> Shape:
        """Return the place of a chunk in the grid; x changes first."""
        _, rows, columns = self.counts
        return index // (rows * columns), index // columns % rows, index % columns

    def index(self, position: Sequence[int]) -> int:
        """Return the number of the chunk at a place in the grid."""
        _, rows, columns = self.counts
        z, y, x = position
        return (z * rows + y) * columns + x

    def box(self, index: int) -> Box:
        """Return the voxels of a chunk."""
        z, y, x = (
            slice(place * size, min((place + 1) * size, length))
            for place, size, length in zip(self.position(index), self.chunk, self.shape, strict=True)
        )
        return z, y, x


def extent(box: Box) -> Shape:
    """Return the number of voxels of a box along each axis."""
    z, y, x = (side.stop - side.start for side in box)
    return z, y, x


def shifted(box: Box, origin: Sequence[int]) -> Box:
    """Return the box as seen from `origin`."""
    z, y, x = (slice(side.start - start, side.stop - start) for side, start in zip(box, origin, strict=True))
    return z, y, x
