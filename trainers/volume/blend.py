"""Inference patch by patch: the outputs of overlapping patches are added with weights that sum to one.

    y(i) = sum_p w_p(i) net_p(i),   sum_p w_p(i) = 1

The sum is in float64 and is rounded to float32 once. A net that returns its input gives back the volume to the bit: for
K patches at a voxel the sum is x (1 + e) with |e| < (K + 10) 2^-53, and x is the nearest float32 while |e| < 2^-25. The
sum starts from -0.0, because 0.0 + -0.0 would lose the sign of a zero.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trainers.volume.chunks import Box, extent, shifted
from trainers.volume.patches import Lattice

Floats = NDArray[np.float32]
Net = Callable[[Floats], Floats]  # x_CZYX -> y_KZYX of the same voxels


def return_input(x_CZYX: Floats) -> Floats:
    """Return the input: the net of identity tests."""
    return x_CZYX


def infer_box(x_CZYX: Floats, origin: Box, box: Box, lattice: Lattice, net: Net) -> Floats:
    """Return the blended output y_KZYX for the voxels of `box`.

    x_CZYX has the voxels of `origin`, which contain `lattice.reach(box)`.
    """
    corner = tuple(side.start for side in box)
    first = tuple(side.start for side in origin)
    sum_KZYX: NDArray[np.float64] | None = None
    for patch in lattice.touching(box):
        y_KPPP = net(x_CZYX[:, *shifted(patch.box, first)])
        if y_KPPP.shape[1:] != extent(patch.box):
            raise ValueError(f"the net made {y_KPPP.shape[1:]} voxels of a patch of {extent(patch.box)}")
        if sum_KZYX is None:
            sum_KZYX = np.full((len(y_KPPP), *extent(box)), -0.0)
        shared, weight_ZYX = patch.within(box)
        own = shifted(shared, [side.start for side in patch.box])
        sum_KZYX[:, *shifted(shared, corner)] += weight_ZYX * y_KPPP[:, *own]
    assert sum_KZYX is not None, "every voxel has a patch"
    return sum_KZYX.astype(np.float32)
