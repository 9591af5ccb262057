"""Raw volumes: a folder with volume.json and plain numbers, in one file or in a file for each block.

    volume.json     {"shape": [C, Z, Y, X], "dtype": "<f4", "block": [z, y, x]}, or "file": "em.raw" in place of "block"
    Z/Y-X.raw       the block at this place of the grid of blocks: its values, channels first, x innermost

The values of a file are in the order of the shape, x innermost. Only volumes in blocks are written.
"""

import json
from pathlib import Path

import numpy as np

from trainers.volume.chunks import Box, ChunkGrid, Shape, extent, shifted
from trainers.volume.stores.durable import sync_folders, write_durably, write_once
from trainers.volume.stores.volume import Layout, Voxels, check_whole_blocks

NAME = "volume.json"


class RawFile:
    """A volume in one file, which is only read."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._path, self.layout = path, layout
        self._shape = (layout.channels, *layout.shape)
        need = int(np.prod(self._shape)) * layout.dtype.itemsize
        if path.stat().st_size != need:
            raise ValueError(f"{path} has {path.stat().st_size:,} bytes, and {self._shape} needs {need:,}")

    def read(self, box: Box) -> Voxels:
        """Return x_CZYX for the voxels of a box."""
        stored = np.memmap(self._path, dtype=self.layout.dtype, mode="r", shape=self._shape)
        return np.array(stored[:, *box])

    def write(self, box: Box, x_CZYX: Voxels) -> None:
        """Refuse: writers of one file would share its pages."""
        raise ValueError(f"{self._path} is one file: outputs are written in blocks")


class RawBlocks:
    """A volume with a file for each block."""

    def __init__(self, folder: Path, layout: Layout) -> None:
        self._folder, self.layout = folder, layout
        self._grid = ChunkGrid(layout.shape, layout.block)

    def read(self, box: Box) -> Voxels:
        """Return x_CZYX for the voxels of a box; raise ValueError if a block is missing or has another size."""
        made = np.empty((self.layout.channels, *extent(box)), self.layout.dtype)
        corner = [side.start for side in box]
        for index in self._touching(box):
            block = self._grid.box(index)
            z, y, x = (slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(block, box, strict=True))
            inside = shifted((z, y, x), [side.start for side in block])
            made[:, *shifted((z, y, x), corner)] = self._read_block(index, extent(block))[:, *inside]
        return made

    def write(self, box: Box, x_CZYX: Voxels) -> None:
        """Write the blocks of a box, which are on the disk when the call returns."""
        check_whole_blocks(self.layout, box)
        corner, folders = [side.start for side in box], set()
        for index in self._touching(box):
            path = self._path(index)
            part = x_CZYX[:, *shifted(self._grid.box(index), corner)]
            write_durably(path, np.ascontiguousarray(part, self.layout.dtype).tobytes())
            folders.add(path.parent)
        sync_folders({*folders, self._folder})

    def _touching(self, box: Box) -> list[int]:
        sizes = zip(box, self.layout.block, strict=True)
        z_side, y_side, x_side = (range(side.start // size, -(-side.stop // size)) for side, size in sizes)
        return [self._grid.index((z, y, x)) for z in z_side for y in y_side for x in x_side]

    def _read_block(self, index: int, shape: Shape) -> Voxels:
        path, full = self._path(index), (self.layout.channels, *shape)
        try:
            return np.fromfile(path, self.layout.dtype).reshape(full)
        except FileNotFoundError:
            raise ValueError(f"the block {path} is missing: the volume is not complete") from None
        except ValueError:
            raise ValueError(f"{path} has {path.stat().st_size:,} bytes, which are not {full} values") from None

    def _path(self, index: int) -> Path:
        z, y, x = self._grid.position(index)
        return self._folder / str(z) / f"{y}-{x}.raw"


def open_raw(folder: Path) -> RawFile | RawBlocks:
    """Return the volume in a folder with volume.json; raise ValueError if the file describes none."""
    path = folder / NAME
    try:
        about = json.loads(path.read_bytes())
        shape = [int(length) for length in about["shape"]]
        channels, z, y, x = shape if len(shape) == 4 else (1, *shape)
        block = about.get("block") or [z, y, x]
        layout = Layout(channels, (z, y, x), np.dtype(about["dtype"]), (int(block[0]), int(block[1]), int(block[2])))
        file = about.get("file")
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"{path} describes no volume: {error or type(error).__name__}") from error
    return RawFile(folder / file, layout) if file else RawBlocks(folder, layout)


def create_raw(folder: Path, layout: Layout) -> None:
    """Create an empty volume in blocks, unless another process has created it."""
    about = {
        "shape": [layout.channels, *layout.shape],
        "dtype": layout.dtype.newbyteorder("<").str,
        "block": [*layout.block],
    }
    write_once(folder / NAME, json.dumps(about).encode())
