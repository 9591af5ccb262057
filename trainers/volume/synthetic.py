"""python -m trainers.volume.synthetic FOLDER: write a volume of bright bodies in noise, and which voxels are inside.

FOLDER/em is the volume and FOLDER/inside the truth: raw volumes in blocks, made from the seed alone.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

from trainers.data.sources.bodies import draw_bodies
from trainers.volume.chunks import Box, Shape
from trainers.volume.stores.find import Format, create_volume
from trainers.volume.stores.volume import Layout, Voxels


def main(arguments: list[str] | None = None) -> int:
    """Write both volumes; return 0."""
    parser = argparse.ArgumentParser(prog="python -m trainers.volume.synthetic", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--shape", type=int, nargs=3, default=(64, 64, 64), metavar=("Z", "Y", "X"))
    parser.add_argument("--block", type=int, default=32, help="edge of a storage block")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", choices=["raw", "zarr"], default="raw")
    asked = parser.parse_args(arguments)
    z, y, x = asked.shape
    write_bodies(asked.folder, (z, y, x), block=asked.block, seed=asked.seed, kind=asked.format)
    print(f"{asked.folder}: {z} x {y} x {x} voxels in em, and in inside which of them are inside a body")
    return 0


def write_bodies(folder: Path, shape: Shape, *, block: int, seed: int, kind: Format = "raw") -> None:
    """Write the volume `em` and the truth `inside` into a folder."""
    x_ZYX, inside_ZYX = draw_bodies(shape, seed)
    _write(folder / "em", x_ZYX[None], block, kind)
    _write(folder / "inside", inside_ZYX[None].astype(np.uint8), block, kind)


def _write(folder: Path, x_CZYX: Voxels, block: int, kind: Format) -> None:
    _, z, y, x = x_CZYX.shape
    everything: Box = (slice(0, z), slice(0, y), slice(0, x))
    edges = min(block, z), min(block, y), min(block, x)
    create_volume(folder, Layout(1, (z, y, x), x_CZYX.dtype, edges), kind).write(everything, x_CZYX)


if __name__ == "__main__":
    sys.exit(main())
