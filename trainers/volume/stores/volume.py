"""Volume: the interface of stored volumes, and the check that a part consists of whole blocks."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trainers.volume.chunks import Box, Shape

Voxels = NDArray[Any]  # x_CZYX


@dataclass(frozen=True)
class Layout:
    """What a volume is: channels, voxels, the type of a value, and the voxels of a block."""

    channels: int
    shape: Shape
    dtype: np.dtype[Any]
    block: Shape


class Volume(Protocol):
    """A volume of channels x Z x Y x X values."""

    layout: Layout

    def read(self, box: Box) -> Voxels:
        """Return x_CZYX for the voxels of a box; raise ValueError if they cannot be read."""
        ...

    def write(self, box: Box, x_CZYX: Voxels) -> None:
        """Write whole blocks: each is complete or absent at any moment, and on the disk when the call returns."""
        ...


def check_whole_blocks(layout: Layout, box: Box) -> None:
    """Raise ValueError if a box cuts a block: another writer would write the rest of it."""
    for side, length, size in zip(box, layout.shape, layout.block, strict=True):
        if side.start % size or (side.stop % size and side.stop != length):
            raise ValueError(f"voxels {side.start} to {side.stop} cut a block of {size} voxels")
