"""Each hash is the one that its definition describes, on images that can be computed by hand."""

import numpy as np
import pytest
from scipy.fft import dctn

from contract.spec.dedup.options import HASH_KINDS, HashKind
from trainers.data.dedup.hashes import distances, format_hash, hash_pixels, shrink, side_of


def images(n: int, side: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (n, 1, side, side), dtype=np.uint8)


def bits_of(x_NCHW: np.ndarray, kind: HashKind, bits: int) -> np.ndarray:
    hash_NW = hash_pixels(x_NCHW, kind, bits)
    return np.unpackbits(hash_NW.astype(">u8").view(np.uint8), axis=1).astype(bool)


def test_the_average_hash_compares_each_cell_with_the_mean() -> None:
    x_NCHW = images(5, 32)
    cell_NKK = x_NCHW.reshape(5, 8, 4, 8, 4).mean(axis=(2, 4))
    expected = cell_NKK > cell_NKK.mean(axis=(1, 2), keepdims=True)
    assert (bits_of(x_NCHW, "average", 64) == expected.reshape(5, 64)).all()


def test_the_wavelet_hash_compares_each_cell_with_the_median() -> None:
    x_NCHW = images(5, 32)
    cell_NKK = x_NCHW.reshape(5, 8, 4, 8, 4).mean(axis=(2, 4))
    expected = cell_NKK > np.median(cell_NKK, axis=(1, 2), keepdims=True)
    assert (bits_of(x_NCHW, "wavelet", 64) == expected.reshape(5, 64)).all()


def test_the_difference_hash_says_where_a_row_becomes_brighter() -> None:
    ramp_HW = np.tile(np.arange(72, dtype=np.uint8), (64, 1))
    assert bits_of(ramp_HW[None, None], "difference", 64).all()
    assert not bits_of(ramp_HW[None, None, :, ::-1], "difference", 64).any()


@pytest.mark.parametrize(("bits", "k"), [(64, 8), (256, 16)])
def test_the_perceptual_hash_has_the_low_frequencies_of_scipys_cosine_transform(bits: int, k: int) -> None:
    x_NCHW = images(4, side_of(bits))
    for x_HW, found in zip(x_NCHW[:, 0], bits_of(x_NCHW, "perceptual", bits), strict=True):
        low = dctn(x_HW.astype(float), type=2)[:k, :k].reshape(-1)
        assert (found == (low > np.median(low[1:]))).all()


def test_cells_count_the_pixels_on_their_border_by_area() -> None:
    x_1HW = np.arange(9, dtype=float).reshape(1, 3, 3)
    assert shrink(x_1HW, 1, 2)[0].tolist() == [[pytest.approx(3 + 1 / 3), pytest.approx(4 + 2 / 3)]]


@pytest.mark.parametrize("kind", HASH_KINDS)
def test_brightness_and_contrast_change_no_hash(kind: HashKind) -> None:
    x_NCHW = images(20, 48).astype(float)
    assert (hash_pixels(x_NCHW, kind) == hash_pixels(0.5 * x_NCHW + 30, kind)).all()


@pytest.mark.parametrize("kind", HASH_KINDS)
def test_images_of_one_color_have_one_hash(kind: HashKind) -> None:
    x_NCHW = np.stack([np.full((3, 37, 53), level, np.uint8) for level in (0, 7, 130, 255)])
    hash_NW = hash_pixels(x_NCHW, kind, 256)
    if kind != "perceptual":  # whose first bit is the sign of the mean
        assert (hash_NW == hash_NW[0]).all()
    assert distances(hash_NW, hash_NW[:1].repeat(4, axis=0)).max() <= 1


def test_a_hash_is_written_with_its_first_bit_first() -> None:
    ramp = np.zeros((1, 1, 32, 32), np.uint8)
    ramp[:, :, :4] = 255
    assert format_hash(hash_pixels(ramp, "average")[0]) == "ff00000000000000"


def test_another_number_of_bits_or_channels_is_refused() -> None:
    with pytest.raises(ValueError, match="64 or 256 bits, not 100"):
        hash_pixels(images(1, 8), "average", 100)
    with pytest.raises(ValueError, match=r"not \(1, 2, 8, 8\)"):
        hash_pixels(np.zeros((1, 2, 8, 8)), "average")
