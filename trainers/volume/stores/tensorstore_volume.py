"""Volumes of N5 and of neuroglancer's precomputed format, by the library tensorstore; they are only read."""

from typing import Any

import numpy as np
import tensorstore

from trainers.volume.chunks import Box
from trainers.volume.stores.source import Source
from trainers.volume.stores.volume import Layout, Voxels

# a rank has few cores, and many ranks share a host; the library's default is a thread for each core
THREADS = {"file_io_concurrency": {"limit": 4}, "data_copy_concurrency": {"limit": 1}}


class TensorStoreVolume:
    """A volume whose stored axes are x, y, z, or x, y, z, channel: the first voxel stored is voxel (0, 0, 0) here."""

    def __init__(self, source: Source) -> None:
        self._folder = source.folder
        self._stored: Any = _open(source)
        if self._stored.rank not in (3, 4):
            raise ValueError(f"{source.folder} has {self._stored.rank} axes: a volume has x, y, z, or x, y, z, channel")
        *channels, z, y, x = reversed(self._stored.shape)
        *_, block_z, block_y, block_x = reversed(self._stored.chunk_layout.read_chunk.shape)
        dtype = np.dtype(self._stored.dtype.numpy_dtype)
        self.layout = Layout(channels[0] if channels else 1, (z, y, x), dtype, (block_z, block_y, block_x))

    def read(self, box: Box) -> Voxels:
        """Return x_CZYX for the voxels of a box; the library's fill value, zero, for blocks that are not there."""
        sides = tuple(slice(side.start, side.stop) for side in reversed(box))
        try:
            stored = np.asarray(self._stored[sides].read().result())
        except ValueError as error:
            raise ValueError(f"{self._folder}: {error}") from None
        x_CZYX = stored.T  # the library has x first
        return x_CZYX if x_CZYX.ndim == 4 else x_CZYX[None]

    def write(self, box: Box, x_CZYX: Voxels) -> None:
        """Refuse: volumes are written as raw or Zarr."""
        raise ValueError(f"{self._folder} is only read: outputs are written as raw or zarr")


def _open(source: Source) -> Any:
    spec: dict[str, Any] = {
        "driver": source.driver,
        "kvstore": {"driver": "file", "path": f"{source.folder}/"},
        "context": THREADS,
    }
    if source.scale is not None:
        spec["scale_index"] = source.scale
    try:
        stored = tensorstore.open(spec, open=True, read=True).result()
    except ValueError as error:
        raise ValueError(f"{source.folder} is no volume that tensorstore reads: {error}") from None
    return stored[tensorstore.d[:].translate_to[0]]  # precomputed volumes begin at an offset
