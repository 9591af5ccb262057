"""Volumes of Zarr, version 2 and 3, by its library; only Zarr 3 is written, one block in each file."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from zarr.core.buffer import Buffer, default_buffer_prototype
from zarr.core.sync import sync
from zarr.storage import LocalStore, MemoryStore

from trainers.volume.chunks import Box
from trainers.volume.stores.durable import sync_folders, write_durably, write_once
from trainers.volume.stores.volume import Layout, Voxels, check_whole_blocks


class DurableStore(LocalStore):
    """A store of files whose blocks are on the disk before a write returns: the library does not sync."""

    async def set(self, key: str, value: Buffer) -> None:
        """Write a block or metadata."""
        path = self.root / key
        await asyncio.to_thread(write_durably, path, value.to_bytes())
        await asyncio.to_thread(sync_folders, {above for above in path.parents if above.is_relative_to(self.root)})


class ZarrVolume:
    """An array with the axes z, y, x, or channel, z, y, x."""

    def __init__(self, folder: Path) -> None:
        self._array: Any = zarr.open_array(DurableStore(folder), mode="r+")
        if self._array.ndim not in (3, 4):
            raise ValueError(f"{folder} has {self._array.ndim} axes: a volume has z, y, x, or channel, z, y, x")
        z, y, x = self._array.shape[-3:]
        channels = self._array.shape[0] if self._array.ndim == 4 else 1
        bz, by, bx = self._array.chunks[-3:]
        self.layout = Layout(channels, (z, y, x), np.dtype(self._array.dtype), (bz, by, bx))

    def read(self, box: Box) -> Voxels:
        """Return x_CZYX for the voxels of a box; the library's fill value for blocks that are not there."""
        x = np.asarray(self._array[(..., *box)])
        return x if x.ndim == 4 else x[None]

    def write(self, box: Box, x_CZYX: Voxels) -> None:
        """Write the blocks of a box, which are on the disk when the call returns."""
        check_whole_blocks(self.layout, box)
        self._array[(..., *box)] = x_CZYX if self._array.ndim == 4 else x_CZYX[0]


def create_zarr(folder: Path, layout: Layout) -> None:
    """Create an empty array, unless another process has created it."""
    lead = (layout.channels,) if layout.channels > 1 else ()
    memory = MemoryStore()
    zarr.create_array(
        memory,
        shape=(*lead, *layout.shape),
        chunks=(*(1 for _ in lead), *layout.block),
        dtype=layout.dtype,
        dimension_names=[*("c" for _ in lead), "z", "y", "x"],
        config={"write_empty_chunks": True},
    )
    text = sync(memory.get("zarr.json", default_buffer_prototype()))
    assert text is not None
    write_once(folder / "zarr.json", text.to_bytes())
