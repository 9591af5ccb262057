"""Perceptual hashes: an image becomes 64 or 256 bits, and similar images differ in few bits.

With k = 8 or 16 and hashes of k x k bits, of the image in gray:

    average     a mean of each of k x k cells, greater than the mean of all
    difference  k rows of k + 1 cells, each greater than its left neighbor
    perceptual  the k x k lowest frequencies of the cosine transform, greater than their median without the constant
    wavelet     the k x k approximation of the Haar transform, greater than its median

Li et al. (CE-Dedup, 2021) compare these four. The Haar approximation is the mean of each cell, so `wavelet` is
`average` with the median for the mean.
"""

from collections.abc import Callable, Mapping
from math import isqrt
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from contract.spec.dedup.options import HASH_BITS, HashKind

WORD_BITS = 64
PIXELS_PER_CELL = 4  # on each side: a hash of k x k bits is made of 4 k x 4 k pixels
LUMA = np.array([0.299, 0.587, 0.114])  # weights of red, green and blue (ITU-R BT.601)
TIE = 1e-6  # gray levels: smaller differences are rounding errors of the transforms, as in an image of one color

Words = NDArray[np.uint64]  # hash_NW: the bits of N hashes, the first bit highest in the first word
Reals = NDArray[np.float64]
Flags = NDArray[np.bool_]


def side_of(bits: int) -> int:
    """Return the height and width in pixels from which a hash of `bits` bits is made."""
    return PIXELS_PER_CELL * isqrt(bits)


def hash_pixels(x_NCHW: NDArray[np.generic], kind: HashKind, bits: int = 64) -> Words:
    """Return the hashes of images in memory, as words of shape (N, bits / 64): C is 1 or 3, the values are any numbers.

    Raises ValueError for another number of bits or channels.
    """
    if bits not in HASH_BITS:
        raise ValueError(f"a hash has {' or '.join(map(str, HASH_BITS))} bits, not {bits}")
    if x_NCHW.ndim != 4 or x_NCHW.shape[1] not in (1, 3):
        raise ValueError(f"images have the shape (N, 1 or 3, height, width), not {x_NCHW.shape}")
    gray_NHW = np.tensordot(x_NCHW.astype(np.float64), LUMA, ((1,), (0,))) if x_NCHW.shape[1] == 3 else x_NCHW[:, 0]
    side = side_of(bits)
    bits_NKK = HASHES[kind](shrink(gray_NHW.astype(np.float64), side, side), isqrt(bits))
    packed_NB = np.packbits(bits_NKK.reshape(len(bits_NKK), bits), axis=1)
    return packed_NB.view(">u8").astype(np.uint64)


def shrink(x_NHW: Reals, rows: int, columns: int) -> Reals:
    """Return the means of rows x columns cells of equal size; pixels on a border count by their area."""
    cells_NHW: Reals = _overlaps(x_NHW.shape[1], rows) @ x_NHW @ _overlaps(x_NHW.shape[2], columns).T
    return cells_NHW


def _overlaps(pixels: int, cells: int) -> Reals:
    """Return a matrix (cells, pixels) with the share of each pixel in the mean of each cell."""
    edge_C, edge_P = np.linspace(0, pixels, cells + 1), np.arange(pixels + 1)
    low_CP = np.maximum(edge_C[:-1, None], edge_P[None, :-1])
    high_CP = np.minimum(edge_C[1:, None], edge_P[None, 1:])
    share_CP: Reals = np.maximum(high_CP - low_CP, 0) * cells / pixels
    return share_CP


def _average(gray_NSS: Reals, k: int) -> Flags:
    mean_NKK = shrink(gray_NSS, k, k)
    is_bright_NKK: Flags = mean_NKK > mean_NKK.mean(axis=(1, 2), keepdims=True) + TIE
    return is_bright_NKK


def _difference(gray_NSS: Reals, k: int) -> Flags:
    mean_NKC = shrink(gray_NSS, k, k + 1)
    return mean_NKC[:, :, 1:] > mean_NKC[:, :, :-1] + TIE


def _perceptual(gray_NSS: Reals, k: int) -> Flags:
    side = gray_NSS.shape[1]
    frequency_K, place_S = np.arange(k), np.arange(side)
    # DCT-II; its scale changes no comparison with the median
    wave_KS = np.cos(np.pi / side * (place_S[None, :] + 0.5) * frequency_K[:, None])
    power_NKK = wave_KS @ gray_NSS @ wave_KS.T
    median_N = np.median(power_NKK.reshape(len(power_NKK), k * k)[:, 1:], axis=1)
    is_strong_NKK: Flags = power_NKK > median_N[:, None, None] + TIE * side
    return is_strong_NKK


def _wavelet(gray_NSS: Reals, k: int) -> Flags:
    low_NHW = gray_NSS
    while low_NHW.shape[1] > k:
        low_NHW = (low_NHW[:, ::2] + low_NHW[:, 1::2]) / 2
        low_NHW = (low_NHW[:, :, ::2] + low_NHW[:, :, 1::2]) / 2
    return low_NHW > np.median(low_NHW, axis=(1, 2), keepdims=True) + TIE


HASHES: Mapping[HashKind, Callable[[Reals, int], Flags]] = MappingProxyType(
    {"average": _average, "difference": _difference, "perceptual": _perceptual, "wavelet": _wavelet}
)


def distances(one_NW: Words, other_NW: Words) -> NDArray[np.int64]:
    """Return the number of bits in which each pair of hashes differs."""
    distance_N: NDArray[np.int64] = np.bitwise_count(one_NW ^ other_NW).sum(axis=-1, dtype=np.int64)
    return distance_N


def format_hash(hash_W: Words) -> str:
    """Return a hash as hexadecimal digits."""
    return "".join(f"{int(word):016x}" for word in hash_W)
