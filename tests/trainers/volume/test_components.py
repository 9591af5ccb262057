"""Components over the borders of chunks are those of the whole mask, up to their numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage

from trainers.volume.chunks import ChunkGrid, Shape
from trainers.volume.components import Labels, label_chunk, merge, offsets_across


def in_chunks(mask_ZYX: np.ndarray, chunk: Shape, connectivity: int) -> tuple[np.ndarray, int]:
    """The components of all chunks."""
    z, y, x = mask_ZYX.shape
    grid = ChunkGrid((z, y, x), chunk)
    made = [label_chunk(mask_ZYX[grid.box(index)], connectivity) for index in range(len(grid))]
    merged = merge(grid, lambda index: made[index][1], connectivity)
    out = np.zeros(mask_ZYX.shape, np.uint32)
    for index, (label_ZYX, _) in enumerate(made):
        out[grid.box(index)] = merged.relabel(index, label_ZYX)
    return out, merged.components


def are_equal_up_to_numbers(a_ZYX: np.ndarray, b_ZYX: np.ndarray) -> bool:
    """Whether two labelings cut the voxels into the same sets, and agree about the background."""
    pairs = np.unique(np.stack([a_ZYX.ravel(), b_ZYX.ravel()]), axis=1)
    one_to_one = len(np.unique(pairs[0])) == len(np.unique(pairs[1])) == pairs.shape[1]
    return one_to_one and np.array_equal(a_ZYX == 0, b_ZYX == 0)


@given(
    shape=st.tuples(*[st.integers(1, 14)] * 3),
    chunk=st.tuples(*[st.integers(1, 14)] * 3),
    connectivity=st.sampled_from([1, 2, 3]),
    filled=st.sampled_from([0.05, 0.2, 0.32, 0.5, 0.9]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=100, deadline=None)
def test_components_are_those_of_the_whole_mask(
    shape: Shape, chunk: Shape, connectivity: int, filled: float, seed: int
) -> None:
    mask_ZYX = np.random.default_rng(seed).random(shape) < filled
    depth, height, width = (max(size, length // 5 + 1) for size, length in zip(chunk, shape, strict=True))
    chunk = depth, height, width
    whole_ZYX, count = ndimage.label(mask_ZYX, ndimage.generate_binary_structure(3, connectivity))
    parts_ZYX, components = in_chunks(mask_ZYX, chunk, connectivity)
    assert components == count
    assert are_equal_up_to_numbers(whole_ZYX, parts_ZYX)


def test_a_spiral_through_all_chunks_is_one_component() -> None:
    mask_ZYX = np.zeros((1, 17, 17), bool)
    mask_ZYX[0, ::4] = True
    for row, end in zip((2, 6, 10, 14), (16, 0, 16, 0), strict=True):
        mask_ZYX[0, row - 1 : row + 2, end] = True
    parts_ZYX, components = in_chunks(mask_ZYX, (1, 3, 3), 1)
    assert components == 1
    assert set(np.unique(parts_ZYX)) == {0, 1}


@pytest.mark.parametrize(("connectivity", "count"), [(1, 2), (2, 2), (3, 1)])
def test_two_voxels_that_share_a_corner_of_eight_chunks(connectivity: int, count: int) -> None:
    mask_ZYX = np.zeros((4, 4, 4), bool)
    mask_ZYX[1, 1, 1] = mask_ZYX[2, 2, 2] = True
    assert in_chunks(mask_ZYX, (2, 2, 2), connectivity)[1] == count


def test_components_are_numbered_in_the_order_of_the_chunks() -> None:
    mask_ZYX = np.zeros((1, 1, 9), bool)
    mask_ZYX[0, 0, [0, 3, 6, 8]] = True
    assert in_chunks(mask_ZYX, (1, 1, 3), 1)[0].ravel().tolist() == [1, 0, 0, 2, 0, 0, 3, 0, 4]


def test_an_empty_mask_has_no_component() -> None:
    parts_ZYX, components = in_chunks(np.zeros((4, 5, 6), bool), (2, 2, 2), 1)
    assert (components, int(parts_ZYX.max())) == (0, 0)


def test_offsets_across_a_cut_are_those_of_the_neighborhood() -> None:
    assert [len(offsets_across(one)) for one in (1, 2, 3)] == [1, 5, 9]  # 6, 18 and 26 neighbors


def test_the_labels_of_a_chunk_are_those_of_scipy() -> None:
    mask_ZYX = np.random.default_rng(0).random((6, 7, 8)) < 0.3
    label_ZYX: Labels = label_chunk(mask_ZYX, 1)[0]
    assert np.array_equal(label_ZYX, ndimage.label(mask_ZYX)[0])
