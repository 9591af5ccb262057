"""Volumes of tests: blobs as input, the spec of a run over them, and the bytes that workers stored."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from trainers.volume.chunks import Box, Shape
from trainers.volume.stores.find import create_volume
from trainers.volume.stores.volume import Layout

SHAPE: Shape = (20, 33, 22)
SPEC: dict[str, Any] = {
    "chunk": [8, 8, 8],
    "block": [8, 8, 4],
    "operators": [
        {"kind": "read", "path": "em"},
        {"kind": "infer", "patch": [7, 6, 9], "overlap": [3, 2, 4]},
        {"kind": "write", "path": "values"},
        {"kind": "threshold", "at": 0.5},
        {"kind": "components"},
        {"kind": "write", "path": "labels"},
    ],
}


def write_input(folder: Path, shape: Shape = SHAPE, *, block: Shape = (16, 16, 16)) -> NDArray[np.float32]:
    """Write a raw volume of smooth blobs between 0 and 1; return it."""
    noise_ZYX = np.random.default_rng(0).standard_normal(shape)
    smooth_ZYX = ndimage.gaussian_filter(noise_ZYX, 1.2)
    x_ZYX: NDArray[np.float32] = (0.4 + 0.6 * smooth_ZYX).astype(np.float32)
    everything: Box = (slice(0, shape[0]), slice(0, shape[1]), slice(0, shape[2]))
    create_volume(folder, Layout(1, shape, np.dtype("<f4"), block), "raw").write(everything, x_ZYX[None])
    return x_ZYX


def stored_blobs(folder: Path) -> dict[str, str]:
    """Return the hash of each file of a volume."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith(".")]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
