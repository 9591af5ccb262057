"""Blending: weights sum to one, the identity net returns the volume to the bit, and no result depends on the chunks."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainers.volume.blend import Floats, Net, infer_box, return_input
from trainers.volume.chunks import Box, ChunkGrid, Shape
from trainers.volume.patches import Lattice, cut_axis


@st.composite
def cuts(draw: st.DrawFn, longest: int = 24) -> tuple[Shape, Shape, Shape, Shape]:
    """A volume, chunks, patches and overlaps, along three axes that have nothing to do with each other."""
    length = st.integers(1, longest)
    shape, chunk, patch = (draw(st.tuples(length, length, length)) for _ in range(3))

    def overlap(size: int) -> int:
        return min(draw(st.integers(0, size - 1)), max(0, size - 3))  # else thousands of patches

    return shape, chunk, patch, (overlap(patch[0]), overlap(patch[1]), overlap(patch[2]))


def in_chunks(x_CZYX: Floats, grid: ChunkGrid, lattice: Lattice, net: Net) -> Floats:
    """The output of all chunks, each made from no more than the voxels that it reads."""
    out: Floats | None = None
    for index in range(len(grid)):
        box = grid.box(index)
        read: Box = lattice.reach(box)
        y_KZYX = infer_box(np.ascontiguousarray(x_CZYX[:, *read]), read, box, lattice, net)
        if out is None:
            out = np.full((len(y_KZYX), *grid.shape), np.nan, dtype=np.float32)
        out[:, *box] = y_KZYX
    assert out is not None
    return out


def any_floats(shape: Shape, seed: int) -> Floats:
    """Numbers of all sizes and both signs, with zeros, the smallest and the largest float32."""
    rng = np.random.default_rng(seed)
    x_CZYX = (rng.standard_normal((1, *shape)) * 10.0 ** rng.integers(-44, 38, (1, *shape))).astype(np.float32)
    special = np.array([0.0, -0.0, 1e-45, -1e-45, np.finfo(np.float32).max, -np.finfo(np.float32).max], np.float32)
    where = rng.random((1, *shape)) < 0.2
    x_CZYX[where] = rng.choice(special, where.sum())
    return x_CZYX


@pytest.mark.ring("all")
@given(cut=cuts(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_identity_net_returns_the_volume_to_the_bit(cut: tuple[Shape, Shape, Shape, Shape], seed: int) -> None:
    shape, chunk, patch, overlap = cut
    x_CZYX = any_floats(shape, seed)
    y_CZYX = in_chunks(x_CZYX, ChunkGrid(shape, chunk), Lattice(shape, patch, overlap), return_input)
    assert np.array_equal(x_CZYX.view(np.uint32), y_CZYX.view(np.uint32))


@given(cut=cuts(16), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_the_output_does_not_depend_on_the_chunks_to_the_bit(cut: tuple[Shape, Shape, Shape, Shape], seed: int) -> None:
    shape, chunk, patch, overlap = cut
    x_CZYX, lattice = any_floats(shape, seed) / 1e6, Lattice(shape, patch, overlap)

    def net(x: Floats) -> Floats:  # depends on the whole patch, so that patches disagree at the voxels they share
        with np.errstate(all="ignore"):
            return np.stack([np.tanh(x[0] + x[0].mean()), x[0] - np.float32(x[0].std())])

    whole = in_chunks(x_CZYX, ChunkGrid(shape, shape), lattice, net)
    parts = in_chunks(x_CZYX, ChunkGrid(shape, chunk), lattice, net)
    assert np.array_equal(whole.view(np.uint32), parts.view(np.uint32))


@given(cut=cuts())
@settings(max_examples=60, deadline=None)
def test_weights_sum_to_one_at_every_voxel(cut: tuple[Shape, Shape, Shape, Shape]) -> None:
    shape, _, patch, overlap = cut
    everything: Box = (slice(0, shape[0]), slice(0, shape[1]), slice(0, shape[2]))
    sum_ZYX = np.zeros(shape)
    for one in Lattice(shape, patch, overlap).touching(everything):
        box, weight_PPP = one.within(everything)
        assert weight_PPP.min() > 0
        sum_ZYX[box] += weight_PPP
    assert np.abs(sum_ZYX - 1).max() < 1e-14


@given(length=st.integers(1, 200), patch=st.integers(1, 64), data=st.data())
@settings(deadline=None)
def test_patches_cover_an_axis_and_neighbors_overlap_at_least_as_asked(
    length: int, patch: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, patch - 1))
    axis = cut_axis(length, patch, overlap)
    assert axis.starts[0] == 0
    assert axis.starts[-1] + axis.patch == length
    assert all(b - a <= patch - overlap and b > a for a, b in zip(axis.starts, axis.starts[1:], strict=False))


@given(cut=cuts(40))
def test_chunks_cover_every_voxel_once(cut: tuple[Shape, Shape, Shape, Shape]) -> None:
    shape, chunk, _, _ = cut
    grid, seen = ChunkGrid(shape, chunk), np.zeros(shape, np.uint8)
    for index in range(len(grid)):
        assert grid.index(grid.position(index)) == index
        seen[grid.box(index)] += 1
    assert (seen == 1).all()


def test_a_wide_patch_has_no_weight_that_vanishes() -> None:
    axis = cut_axis(5000, 4096, 100)
    assert all(np.isfinite(weight_P).all() and weight_P.min() > 0 for weight_P in axis.weights)


def test_overlaps_as_long_as_a_patch_and_empty_volumes_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot overlap by 8"):
        cut_axis(32, 8, 8)
    with pytest.raises(ValueError, match="empty side"):
        ChunkGrid((0, 4, 4), (2, 2, 2))


def test_a_convolution_is_the_same_to_the_bit_in_chunks() -> None:
    torch.manual_seed(0)
    layer = torch.nn.Conv3d(1, 3, 3, padding=1)

    def net(x_CZYX: Floats) -> Floats:
        with torch.inference_mode():
            made: Floats = layer(torch.from_numpy(np.ascontiguousarray(x_CZYX))[None])[0].numpy()
        return made

    shape = (30, 21, 26)
    x_CZYX, lattice = any_floats(shape, 1).clip(-9, 9), Lattice(shape, (12, 10, 12), (4, 3, 5))
    whole = in_chunks(x_CZYX, ChunkGrid(shape, shape), lattice, net)
    parts = in_chunks(x_CZYX, ChunkGrid(shape, (8, 8, 16)), lattice, net)
    assert np.array_equal(whole.view(np.uint32), parts.view(np.uint32))
