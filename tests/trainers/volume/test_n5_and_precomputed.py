"""Volumes of N5 and of the precomputed format: files of the library tensorstore, and files made by hand, are read."""

import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorstore

from contract.spec.volume.volume import Volume
from tests.testing.trainers.volumes import SPEC, stored_blobs, write_input
from trainers.volume.chunks import Box
from trainers.volume.stores.find import open_volume
from trainers.volume.task_folder import TaskFolder, Worker
from trainers.volume.work.plan import make_plan
from trainers.volume.work.worker import Workbench

SHAPE, BLOCK = (9, 10, 7), (4, 3, 7)  # z, y, x
PART: Box = (slice(1, 8), slice(3, 4), slice(2, 5))


def some_voxels(channels: int, dtype: str) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 200, (channels, *SHAPE)).astype(dtype)


def write_n5(folder: Path, x_CZYX: np.ndarray, compression: dict[str, Any]) -> None:
    """Write an array with the axes x, y, z, or with several channels x, y, z, channel."""
    x = x_CZYX if len(x_CZYX) > 1 else x_CZYX[0]
    sizes = {"dimensions": x.shape[::-1], "blockSize": [*BLOCK[::-1], 1][: x.ndim]}
    metadata = {"compression": compression, "dataType": str(x.dtype), **sizes}
    spec = {"driver": "n5", "kvstore": {"driver": "file", "path": f"{folder}/"}, "metadata": metadata}
    tensorstore.open(spec, create=True).result()[...] = x.T


def write_precomputed(
    folder: Path, x_CZYX: np.ndarray, encoding: str = "raw", *, resolution: int = 4, extra: dict[str, Any] | None = None
) -> None:
    """Write a scale of a volume whose first voxel is not at the origin."""
    scale = {"size": x_CZYX.shape[:0:-1], "encoding": encoding, "chunk_size": BLOCK[::-1], **(extra or {})}
    scale |= {"resolution": [resolution, resolution, 40], "voxel_offset": [100, -20, 300]}
    spec = {
        "driver": "neuroglancer_precomputed",
        "kvstore": {"driver": "file", "path": f"{folder}/"},
        "multiscale_metadata": {
            "data_type": str(x_CZYX.dtype),
            "num_channels": len(x_CZYX),
            "type": "segmentation" if encoding == "compressed_segmentation" else "image",
        },
        "scale_metadata": scale,
    }
    tensorstore.open(spec, create=True).result()[...] = x_CZYX.T


SHARDS = {
    "@type": "neuroglancer_uint64_sharded_v1",
    **{"preshift_bits": 1, "minishard_bits": 1, "shard_bits": 1, "hash": "murmurhash3_x86_128"},
}
SEGMENTS: dict[str, Any] = {"compressed_segmentation_block_size": [8, 8, 8]}
WRITERS: dict[str, tuple[str, int, Callable[[Path, np.ndarray], None]]] = {
    "n5, raw": ("float32", 1, lambda folder, x: write_n5(folder, x, {"type": "raw"})),
    "n5, gzip": ("uint8", 1, lambda folder, x: write_n5(folder, x, {"type": "gzip"})),
    "n5, channels": ("uint16", 3, lambda folder, x: write_n5(folder, x, {"type": "gzip"})),
    "precomputed, raw": ("uint8", 1, write_precomputed),
    "precomputed, channels": ("float32", 2, write_precomputed),
    "precomputed, shards": ("uint16", 1, lambda folder, x: write_precomputed(folder, x, extra={"sharding": SHARDS})),
    "precomputed, segmentation": (
        *("uint64", 1),
        lambda folder, x: write_precomputed(folder, x, "compressed_segmentation", extra=SEGMENTS),
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_any_part_of_a_volume_of_the_library_is_read(name: str, tmp_path: Path) -> None:
    dtype, channels, write = WRITERS[name]
    x_CZYX = some_voxels(channels, dtype)
    write(tmp_path / "em", x_CZYX)
    volume = open_volume(tmp_path / "em")
    assert (volume.layout.channels, volume.layout.shape, volume.layout.dtype) == (channels, SHAPE, np.dtype(dtype))
    assert name == "precomputed, shards" or volume.layout.block == BLOCK
    assert np.array_equal(volume.read(PART), x_CZYX[:, *PART])
    everything: Box = (slice(0, 9), slice(0, 10), slice(0, 7))
    assert np.array_equal(volume.read(everything), x_CZYX)
    with pytest.raises(ValueError, match="only read"):
        volume.write(everything, x_CZYX)


def test_an_n5_block_made_by_hand_is_read(tmp_path: Path) -> None:
    """The header of a block is big-endian: mode, number of axes, sizes; then the values, x innermost."""
    x_ZYX = np.arange(2 * 3 * 4, dtype=np.uint16).reshape(2, 3, 4)
    attributes = {"dimensions": [4, 3, 2], "blockSize": [4, 3, 2], "dataType": "uint16", "compression": {"type": "raw"}}
    (tmp_path / "attributes.json").write_text(json.dumps(attributes))
    (tmp_path / "0" / "0").mkdir(parents=True)
    header = struct.pack(">HHIII", 0, 3, 4, 3, 2)
    (tmp_path / "0" / "0" / "0").write_bytes(header + x_ZYX.astype(">u2").tobytes())
    assert np.array_equal(open_volume(tmp_path).read((slice(0, 2), slice(1, 3), slice(1, 2)))[0], x_ZYX[:, 1:3, 1:2])


def test_a_precomputed_block_made_by_hand_is_read_and_a_missing_one_is_zero(tmp_path: Path) -> None:
    """A block is named by its first and last voxel along x, y and z, with the offset; its values have x innermost."""
    x_ZYX = np.arange(1, 2 * 3 * 4 + 1, dtype=np.uint8).reshape(2, 3, 4)
    scale = {"key": "8_8_8", "resolution": [8, 8, 8], "encoding": "raw", "voxel_offset": [5, 0, 0]}
    scale |= {"size": [8, 3, 2], "chunk_sizes": [[4, 3, 2]]}
    info = {"type": "image", "data_type": "uint8", "num_channels": 1, "scales": [scale]}
    (tmp_path / "info").write_text(json.dumps(info))
    (tmp_path / "8_8_8").mkdir()
    (tmp_path / "8_8_8" / "5-9_0-3_0-2").write_bytes(x_ZYX.tobytes())
    found_ZYX = open_volume(tmp_path).read((slice(0, 2), slice(0, 3), slice(0, 8)))[0]
    assert np.array_equal(found_ZYX[:, :, :4], x_ZYX)
    assert not found_ZYX[:, :, 4:].any()


def test_a_scale_of_a_precomputed_volume_is_named_by_its_folder(tmp_path: Path) -> None:
    fine, coarse = some_voxels(1, "uint8"), some_voxels(1, "uint8") + 1
    write_precomputed(tmp_path / "em", fine)
    write_precomputed(tmp_path / "em", coarse, resolution=8)
    assert np.array_equal(open_volume(tmp_path / "em").read(PART), fine[:, *PART])
    assert np.array_equal(open_volume(tmp_path / "em" / "4_4_40").read(PART), fine[:, *PART])
    assert np.array_equal(open_volume(tmp_path / "em" / "8_8_40").read(PART), coarse[:, *PART])


def test_a_group_of_n5_is_refused_with_the_names_of_its_arrays(tmp_path: Path) -> None:
    write_n5(tmp_path / "s0", some_voxels(1, "uint8"), {"type": "raw"})
    (tmp_path / "attributes.json").write_text('{"n5": "2.0.0"}')
    with pytest.raises(ValueError, match=r"is a group of N5 and no array; name one of its arrays: s0$"):
        open_volume(tmp_path)
    assert open_volume(tmp_path / "s0").layout.shape == SHAPE


def test_what_the_library_cannot_read_is_a_sentence(tmp_path: Path) -> None:
    write_n5(tmp_path / "em", some_voxels(1, "uint8"), {"type": "gzip"})
    volume = open_volume(tmp_path / "em")
    (tmp_path / "em" / "0" / "1" / "0").write_bytes(b"no block")
    with pytest.raises(ValueError, match=rf"^{tmp_path / 'em'}: "):
        volume.read(PART)
    (tmp_path / "em" / "attributes.json").write_text('{"dimensions": [3, 3, 3], "dataType": "dates"}')
    with pytest.raises(ValueError, match="is no volume that tensorstore reads"):
        open_volume(tmp_path / "em")


def test_without_the_library_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forces the fault: tensorstore is not installed."""
    write_n5(tmp_path / "em", some_voxels(1, "uint8"), {"type": "raw"})
    monkeypatch.delitem(sys.modules, "tensorstore")
    monkeypatch.setattr("trainers.volume.stores.find.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"the package tensorstore is not installed here; bigbatch\[n5\] has it"):
        open_volume(tmp_path / "em")


@pytest.mark.ring("gate", others="all")
@pytest.mark.parametrize("kind", ["n5", "precomputed"])
def test_a_run_on_such_a_volume_writes_the_bytes_of_a_run_on_a_raw_one(kind: str, tmp_path: Path) -> None:
    x_ZYX = write_input(tmp_path / "raw" / "em")
    if kind == "n5":
        write_n5(tmp_path / kind / "em", x_ZYX[None], {"type": "gzip"})
    else:
        write_precomputed(tmp_path / kind / "em", x_ZYX[None])
    for folder in (tmp_path / "raw", tmp_path / kind):
        plan = make_plan(Volume.model_validate(SPEC), folder)
        Workbench(plan, TaskFolder(plan.work / "tasks", Worker("alone"), lease_s=60)).work()
    for name in ("values", "labels"):
        assert stored_blobs(tmp_path / kind / name) == stored_blobs(tmp_path / "raw" / name) != {}
