"""Stored volumes return what was written, refuse parts of blocks, and say what is wrong with a file."""

import json
import subprocess
import sys
import threading
from pathlib import Path
from secrets import token_hex

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trainers.volume.chunks import Box, ChunkGrid
from trainers.volume.stores.durable import DRAFT, remove_drafts, write_durably, write_once
from trainers.volume.stores.find import Format, create_volume, open_volume
from trainers.volume.stores.volume import Layout

FORMATS: list[Format] = ["raw", "zarr"]
LAYOUT = Layout(2, (9, 10, 7), np.dtype("<f4"), (4, 3, 7))


def some_voxels(layout: Layout, seed: int = 0) -> np.ndarray:
    shape = (layout.channels, *layout.shape)
    return np.random.default_rng(seed).standard_normal(shape).astype(layout.dtype)


@pytest.mark.parametrize("kind", FORMATS)
@given(data=st.data())
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_by_blocks_is_read_in_any_part(kind: Format, data: st.DataObject, tmp_path: Path) -> None:
    z, y, x = (data.draw(st.integers(1, 9)) for _ in range(3))
    bz, by, bx = (data.draw(st.integers(1, 9)) for _ in range(3))
    block = (min(bz, z), min(by, y), min(bx, x))
    layout = Layout(data.draw(st.integers(1, 2)), (z, y, x), np.dtype("<f4"), block)
    folder = tmp_path / token_hex(4)
    volume, x_CZYX = create_volume(folder, layout, kind), some_voxels(layout)
    grid = ChunkGrid(layout.shape, (2 * block[0], block[1], 3 * block[2]))
    for index in range(len(grid)):
        box = grid.box(index)
        volume.write(box, x_CZYX[:, *box])
    first = [data.draw(st.integers(0, length - 1)) for length in layout.shape]
    part = [slice(a, data.draw(st.integers(a + 1, length))) for a, length in zip(first, layout.shape, strict=True)]
    box = (part[0], part[1], part[2])
    again = open_volume(folder)
    assert again.layout == layout
    assert np.array_equal(again.read(box), x_CZYX[:, *box])


@pytest.mark.parametrize("kind", FORMATS)
def test_a_part_of_a_block_is_refused(kind: Format, tmp_path: Path) -> None:
    volume = create_volume(tmp_path, LAYOUT, kind)
    box: Box = (slice(0, 4), slice(0, 2), slice(0, 7))
    with pytest.raises(ValueError, match="cut a block of 3 voxels"):
        volume.write(box, some_voxels(LAYOUT)[:, *box])


@pytest.mark.parametrize("kind", FORMATS)
def test_a_folder_with_another_volume_is_refused(kind: Format, tmp_path: Path) -> None:
    create_volume(tmp_path, LAYOUT, kind)
    create_volume(tmp_path, LAYOUT, kind)
    with pytest.raises(ValueError, match="is another volume"):
        create_volume(tmp_path, Layout(2, (9, 10, 8), LAYOUT.dtype, LAYOUT.block), kind)


def test_one_file_with_numbers_is_read(tmp_path: Path) -> None:
    x_CZYX = some_voxels(LAYOUT)
    (tmp_path / "em.raw").write_bytes(x_CZYX.tobytes())
    (tmp_path / "volume.json").write_text(json.dumps({"shape": [2, 9, 10, 7], "dtype": "<f4", "file": "em.raw"}))
    box: Box = (slice(1, 8), slice(3, 4), slice(0, 5))
    assert np.array_equal(open_volume(tmp_path).read(box), x_CZYX[:, *box])
    with pytest.raises(ValueError, match="is one file"):
        open_volume(tmp_path).write(box, x_CZYX)
    (tmp_path / "em.raw").write_bytes(x_CZYX.tobytes()[:-1])
    with pytest.raises(ValueError, match=r"has 5,039 bytes.*needs 5,040"):
        open_volume(tmp_path)


def test_a_block_that_is_missing_or_cut_is_named(tmp_path: Path) -> None:
    volume = create_volume(tmp_path, LAYOUT, "raw")
    box: Box = (slice(0, 4), slice(0, 3), slice(0, 7))
    with pytest.raises(ValueError, match=r"0/0-0.raw is missing"):
        volume.read(box)
    volume.write(box, some_voxels(LAYOUT)[:, *box])
    (tmp_path / "0" / "0-0.raw").write_bytes(b"12345678")
    with pytest.raises(ValueError, match=r"0-0.raw has 8 bytes"):
        volume.read(box)


def test_zarr_written_by_its_own_library_is_read_in_both_versions(tmp_path: Path) -> None:
    import zarr

    x_CZYX = some_voxels(LAYOUT)
    for version in (2, 3):
        folder = tmp_path / str(version)
        array = zarr.create_array(folder, shape=(9, 10, 7), chunks=(4, 3, 7), dtype="f4", zarr_format=version)
        array[:] = x_CZYX[0]
        box: Box = (slice(2, 9), slice(0, 10), slice(1, 2))
        assert np.array_equal(open_volume(folder).read(box), x_CZYX[:1, *box])


def test_a_folder_without_a_volume_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none of volume\.json, zarr\.json"):
        open_volume(tmp_path)
    (tmp_path / "volume.json").write_text('{"shape": [4]}')
    with pytest.raises(ValueError, match="describes no volume"):
        open_volume(tmp_path)


def test_of_many_writers_of_a_file_one_creates_it_and_none_sees_a_part(tmp_path: Path) -> None:
    """Race: eight threads create one file and replace another at the same time."""
    made: list[bool] = []

    def write(number: int) -> None:
        for _ in range(20):
            write_durably(tmp_path / "same", b"x" * 100_000)
            assert len((tmp_path / "same").read_bytes()) == 100_000
        made.append(write_once(tmp_path / "once", str(number).encode()))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [False] * 7 + [True]
    assert not [*tmp_path.glob(f".*{DRAFT}")]


def test_drafts_of_killed_writers_are_removed(tmp_path: Path) -> None:
    (tmp_path / "0").mkdir()
    (tmp_path / "0" / f".0-0.raw.1234{DRAFT}").write_bytes(b"part")
    remove_drafts(tmp_path)
    assert [path.name for path in tmp_path.rglob("*")] == ["0"]


def test_the_libraries_of_formats_are_loaded_only_for_their_volumes() -> None:
    code = "import sys, trainers.volume.stores.find; sys.exit(bool({'zarr', 'tensorstore'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
