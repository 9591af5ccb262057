"""Open and create volumes by the format of their folder."""

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, assert_never

from trainers.volume.stores import raw
from trainers.volume.stores.source import find_source
from trainers.volume.stores.volume import Layout, Volume

Format = Literal["raw", "zarr"]
ZARR = ("zarr.json", ".zarray")  # files that a folder of Zarr has


def open_volume(folder: Path) -> Volume:
    """Return the volume in a folder; raise ValueError if there is none that can be read."""
    if (folder / raw.NAME).is_file():
        return raw.open_raw(folder)
    if any((folder / name).is_file() for name in ZARR):
        _need("zarr", "volume", folder)
        from trainers.volume.stores.zarr_volume import ZarrVolume

        return ZarrVolume(folder)
    if source := find_source(folder):
        _need("tensorstore", "n5", folder)
        from trainers.volume.stores.tensorstore_volume import TensorStoreVolume

        return TensorStoreVolume(source)
    names = ", ".join([raw.NAME, *ZARR, "attributes.json of N5 or info of a precomputed volume"])
    raise ValueError(f"{folder} has none of {names}: it is no volume that is read here")


def create_volume(folder: Path, layout: Layout, kind: Format) -> Volume:
    """Return the volume in a folder, created if it is not there; raise ValueError if another one is there.

    Any number of processes may call this at the same time.
    """
    match kind:
        case "raw":
            raw.create_raw(folder, layout)
        case "zarr":
            _need("zarr", "volume", folder)
            from trainers.volume.stores.zarr_volume import create_zarr

            create_zarr(folder, layout)
        case _:
            assert_never(kind)
    volume = open_volume(folder)
    if volume.layout != layout:
        raise ValueError(f"{folder} is another volume: {volume.layout}, and the output is {layout}")
    return volume


def _need(package: str, extra: str, folder: Path) -> None:
    if find_spec(package) is None:
        raise ValueError(f"{folder}: the package {package} is not installed here; bigbatch[{extra}] has it")
